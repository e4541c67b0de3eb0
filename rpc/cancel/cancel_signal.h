// Joins the two sides of a server's call that may be cancelled: the event loop, which cancels, and the handler, which
// wants to know, whose own calls are to end as well, and which finishes at the same time perhaps.
//
// One atomic word says what each side has done; a call whose handler never asks for anything costs one exchange. The
// lock is for those that do.
//
// Owner: the call's context. Thread: Cancel the loop's; SetCallback and Finish the handler's, one at a time; cancelled
// and nested_calls any.

#ifndef VERBENA_RPC_CANCEL_CANCEL_SIGNAL_H_
#define VERBENA_RPC_CANCEL_CANCEL_SIGNAL_H_

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "rpc/cancel/nested_calls.h"

namespace verbena::rpc {

class CancelSignal {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // Says that nobody waits any more, and no more than that: Cancel follows, soon.
  void Say() { state_.fetch_or(kCancelled); }
  // Says so, cancels the calls that follow, then runs the callback, if there is one; it may finish the call, and with
  // it the life of this.
  void Cancel();
  bool cancelled() const { return (state_.load(std::memory_order_acquire) & kCancelled) != 0; }

  // See ServerContext::SetCancelCallback.
  void SetCallback(Callback callback);
  // What calls that follow this one join; made when it is first asked for, with this call's `deadline`. Null: the
  // handler has finished.
  std::shared_ptr<NestedCalls> nested_calls(absl::Time deadline);
  // The handler has finished: the calls that follow go on by themselves, and no callback runs from here on; one that
  // runs on another thread has returned.
  void Finish() {
    if ((state_.fetch_or(kFinished) & kUsed) != 0) FinishUsed();
  }

  // As newly made. After Finish, with nobody else left who knows of it.
  void Reset() {
    assert((state_.load() & (kUsed | kFinished)) != kUsed && "what it was used for would be the next one's");
    state_.store(0, std::memory_order_relaxed);
  }

 private:
  // What has happened, as bits of state_.
  static constexpr uint32_t kCancelled = 1;
  static constexpr uint32_t kUsed = 2;  // What the lock guards may be there.
  static constexpr uint32_t kFinished = 4;

  void FinishUsed();

  // A callback that runs, on its thread's stack.
  struct Run {
    const std::thread::id thread = std::this_thread::get_id();
    bool finished = false;  // It finished the call itself. Its thread's.
  };

  std::atomic<uint32_t> state_ = 0;
  std::mutex mu_;
  std::condition_variable returned_;
  Callback callback_ ABSL_GUARDED_BY(mu_);
  Run* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::shared_ptr<NestedCalls> nested_calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CANCEL_CANCEL_SIGNAL_H_
