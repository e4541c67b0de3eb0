#include "rpc/cancel/cancel_signal.h"

#include <utility>

#include "transport/run_logging.h"

namespace verbena::rpc {
namespace {

constexpr absl::string_view kWho = "a cancel call-back";

}  // namespace

void CancelSignal::Cancel() {
  // Who uses this later sees that it is cancelled.
  if ((state_.fetch_or(kCancelled) & kUsed) == 0) return;
  std::unique_lock lock(mu_);
  const std::shared_ptr<NestedCalls> nested_calls = nested_calls_;
  Callback callback = std::exchange(callback_, nullptr);
  Run run;
  if (callback != nullptr) running_ = &run;
  lock.unlock();
  if (nested_calls != nullptr) nested_calls->Cancel();
  if (callback == nullptr) return;
  RunLogging(kWho, callback);
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
  if (callback != nullptr) RunLogging(kWho, callback);
}

std::shared_ptr<NestedCalls> CancelSignal::nested_calls(absl::Time deadline) {
  state_.fetch_or(kUsed);
  const std::lock_guard lock(mu_);
  // With the lock: who finishes at the same time comes here next.
  if ((state_.load() & kFinished) != 0) return nullptr;
  if (nested_calls_ == nullptr) {
    nested_calls_ = std::make_shared<NestedCalls>(deadline);
    if (cancelled()) nested_calls_->Cancel();
  }
  return nested_calls_;
}

void CancelSignal::FinishUsed() {
  Callback dropped;  // Destroyed without the lock.
  std::unique_lock lock(mu_);
  dropped = std::exchange(callback_, nullptr);
  if (nested_calls_ != nullptr) std::exchange(nested_calls_, nullptr)->Release();
  if (running_ != nullptr && running_->thread == std::this_thread::get_id()) {
    std::exchange(running_, nullptr)->finished = true;
    returned_.notify_all();
    return;
  }
  returned_.wait(lock, [this] { return running_ == nullptr; });
}

}  // namespace verbena::rpc
