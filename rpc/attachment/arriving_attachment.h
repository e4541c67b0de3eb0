// An attachment between the event loop, to which its parts come, and the handler, which reads them.
//
// Owner: shared; whoever calls Add, Fail, Await or Close holds a share meanwhile. Thread: any; the parts in order.
// Invariant: each byte is given once, and after the last one the end; a waker is run or dropped exactly once, without
// the lock.

#ifndef VERBENA_RPC_ATTACHMENT_ARRIVING_ATTACHMENT_H_
#define VERBENA_RPC_ATTACHMENT_ARRIVING_ATTACHMENT_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"

namespace verbena::rpc {

class ArrivingAttachment {
 public:
  using Waker = absl::AnyInvocable<void()>;

  explicit ArrivingAttachment(uint64_t size) : size_(size) {}
  // All of which is there.
  static std::shared_ptr<ArrivingAttachment> Whole(const absl::Cord& attachment);

  // --- To whom it comes. Each may run the reader's waker.

  // The next part; with the last byte it is whole.
  void Add(absl::Cord part);
  // The rest does not come: a read gives what is there already, and then this. Nothing if it is whole.
  void Fail(absl::Status why);
  // Nobody reads any more: forgets everything, the waker unrun. When this returns none is running, unless it is what
  // calls this.
  void Close();

  // --- The reader's.

  uint64_t size() const { return size_; }
  // Something is there to be taken, if only the end.
  bool readable() const;
  // It, if readable(); see AttachmentReader::Read. Else FAILED_PRECONDITION.
  absl::StatusOr<absl::Cord> Take();
  // Runs `waker` once when it is readable: here, at once, if it is. False, and `waker` is dropped: one waits already.
  bool Await(Waker waker);
  // Drops the waker, if it has not begun to run.
  void StopAwaiting();

 private:
  class Running;

  bool WholeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return came_ >= size_; }
  bool ReadableLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !unread_.empty() || !failure_.ok() || WholeLocked();
  }
  // To be run without the lock, by Run.
  Waker TakeWakerLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run(Waker waker);

  const uint64_t size_;

  mutable std::mutex mu_;
  uint64_t came_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Cord unread_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  Waker waker_ ABSL_GUARDED_BY(mu_);      // Null: nobody waits.
  int running_ ABSL_GUARDED_BY(mu_) = 0;  // Wakers, on whichever threads.
  std::condition_variable ran_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_ATTACHMENT_ARRIVING_ATTACHMENT_H_
