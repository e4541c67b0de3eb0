#include "rpc/cancel/nested_calls.h"

namespace verbena::rpc {

bool NestedCalls::cancelled() const {
  const std::lock_guard lock(mu_);
  return state_ == State::kCancelled;
}

bool NestedCalls::Add(const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id) {
  const std::lock_guard lock(mu_);
  if (state_ == State::kFollowing) calls_.emplace(canceller, call_id);
  return state_ != State::kCancelled;
}

void NestedCalls::Remove(const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id) {
  const std::lock_guard lock(mu_);
  calls_.erase({canceller, call_id});
}

void NestedCalls::Cancel() {
  decltype(calls_) calls;
  {
    const std::lock_guard lock(mu_);
    if (state_ != State::kFollowing) return;
    state_ = State::kCancelled;
    calls_.swap(calls);
  }
  for (const auto& [canceller, call_id] : calls) {
    canceller->CancelCall(call_id, "the call whose handler made this one was cancelled");
  }
}

void NestedCalls::Release() {
  const std::lock_guard lock(mu_);
  if (state_ != State::kFollowing) return;
  state_ = State::kReleased;
  calls_.clear();
}

}  // namespace verbena::rpc
