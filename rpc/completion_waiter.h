// A status that one thread waits for and another one brings.
//
// Owner: the waiter, or shared where the bringer may come too late. Thread: as each method says.

#ifndef VERBENA_RPC_COMPLETION_WAITER_H_
#define VERBENA_RPC_COMPLETION_WAITER_H_

#include <semaphore.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "rpc/executor/cooperative_thread.h"

namespace verbena::rpc {

class CompletionWaiter {
 public:
  CompletionWaiter() { sem_init(&done_, /*pshared=*/0, /*value=*/0); }
  ~CompletionWaiter() { sem_destroy(&done_); }
  CompletionWaiter(const CompletionWaiter&) = delete;
  CompletionWaiter& operator=(const CompletionWaiter&) = delete;

  // Once. Any thread; waits for nobody, calls the kernel if the waiter sleeps, and does not touch this after it has let
  // the waiter go (as POSIX asks of sem_post, and glibc keeps since 2.21, bug 12674; std::binary_semaphore does not
  // promise it).
  void Complete(absl::Status status) {
    status_ = std::move(status);
    sem_post(&done_);
  }

  // Any thread. True: Wait will not sleep; what was brought is seen after Wait, not after this. May be false for a
  // moment while another Wait returns.
  bool done() {
    int value = 0;
    sem_getvalue(&done_, &value);
    return value > 0;
  }
  // As often as wanted.
  absl::Status Wait() {
    if (CooperativeThread* thread = CooperativeThread::current()) thread->YieldUntil([this] { return done(); });
    while (sem_wait(&done_) != 0) {  // A signal handler ran.
    }
    sem_post(&done_);  // It stays complete.
    return status_;
  }

 private:
  sem_t done_;           // 1 when it is complete, but while a Wait returns.
  absl::Status status_;  // The one who completes has it, then the waiter.
};

// A completion for somebody who may be gone: brings its status to a shared waiter, or CANCELLED if it is destroyed
// uncalled, as with a task of a loop that ends.
class SharedCompletion {
 public:
  explicit SharedCompletion(std::shared_ptr<CompletionWaiter> waiter) : waiter_(std::move(waiter)) {}
  SharedCompletion(SharedCompletion&&) noexcept = default;
  ~SharedCompletion() {
    if (waiter_ != nullptr) waiter_->Complete(absl::CancelledError("the event loop has ended"));
  }
  void operator()(absl::Status status) { std::exchange(waiter_, nullptr)->Complete(std::move(status)); }

 private:
  std::shared_ptr<CompletionWaiter> waiter_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_COMPLETION_WAITER_H_
