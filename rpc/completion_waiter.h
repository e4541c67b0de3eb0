// A status that one thread waits for and another one brings.
//
// Owner: the waiter, or shared where the bringer may come too late. Thread: as each method says.

#ifndef VERBENA_RPC_COMPLETION_WAITER_H_
#define VERBENA_RPC_COMPLETION_WAITER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "rpc/executor/cooperative_thread.h"

namespace verbena::rpc {

class CompletionWaiter {
 public:
  // Once. Any thread; does not touch this after it has let the waiter go.
  void Complete(absl::Status status) {
    const std::lock_guard lock(mu_);  // Notified with the lock: the waiter may destroy this.
    status_ = std::move(status);
    done_ = true;
    changed_.notify_one();
  }

  // The waiter's thread.
  bool done() {
    const std::lock_guard lock(mu_);
    return done_;
  }
  absl::Status Wait() {
    if (CooperativeThread* thread = CooperativeThread::current()) thread->YieldUntil([this] { return done(); });
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return done_; });
    return status_;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
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
