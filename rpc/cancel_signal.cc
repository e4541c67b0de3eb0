#include "rpc/cancel_signal.h"

#include <utility>

namespace verbena::rpc {

void CancelSignal::Cancel() {
  // Who uses this later sees that it is cancelled.
  if ((state_.fetch_or(kCancelled) & kUsed) == 0) return;
  std::unique_lock lock(mu_);
  Callback callback = std::exchange(callback_, nullptr);
  if (callback == nullptr) return;
  Run run;
  running_ = &run;
  lock.unlock();
  callback();
  callback = nullptr;  // What it holds is no longer used when others hear that it has returned.
  if (run.finished) return;
  lock.lock();
  running_ = nullptr;
  returned_.notify_all();
}

void CancelSignal::SetCallback(Callback callback) {
  Callback replaced;  // Destroyed last: it may hold the responder, and the call with it.
  state_.fetch_or(kUsed);
  {
    std::unique_lock lock(mu_);
    returned_.wait(lock, [this] { return running_ == nullptr || running_->thread == std::this_thread::get_id(); });
    replaced = std::exchange(callback_, nullptr);
    if (!cancelled()) {
      callback_ = std::move(callback);
      return;
    }
  }
  if (callback != nullptr) callback();
}

void CancelSignal::Finish() {
  if ((state_.fetch_or(kFinished) & kUsed) == 0) return;
  Callback dropped;  // Destroyed without the lock.
  std::unique_lock lock(mu_);
  dropped = std::exchange(callback_, nullptr);
  if (running_ != nullptr && running_->thread == std::this_thread::get_id()) {
    std::exchange(running_, nullptr)->finished = true;
    return;
  }
  returned_.wait(lock, [this] { return running_ == nullptr; });
}

}  // namespace verbena::rpc
