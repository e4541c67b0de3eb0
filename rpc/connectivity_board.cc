#include "rpc/connectivity_board.h"

#include <chrono>
#include <utility>

namespace verbena::rpc {

ConnectivityState ConnectivityBoard::state() const {
  const std::lock_guard lock(mu_);
  return state_;
}

ConnectivityState ConnectivityBoard::Sum() const {
  for (const ConnectivityState state :
       {ConnectivityState::kReady, ConnectivityState::kConnecting, ConnectivityState::kTransientFailure}) {
    if (connections_[static_cast<size_t>(state)] > 0) return state;
  }
  return ConnectivityState::kIdle;
}

void ConnectivityBoard::Move(const ConnectivityState* from, const ConnectivityState* to) {
  const std::lock_guard telling(telling_);
  ConnectivityState state;
  {
    const std::lock_guard lock(mu_);
    if (from != nullptr) --connections_[static_cast<size_t>(*from)];
    if (to != nullptr) ++connections_[static_cast<size_t>(*to)];
    state = Sum();
    if (std::exchange(state_, state) == state) return;
    changed_.notify_all();
  }
  if (callback_ != nullptr) callback_(state);
}

void ConnectivityBoard::SetCallback(Callback callback) {
  const std::lock_guard telling(telling_);
  callback_ = std::move(callback);
  if (callback_ != nullptr) callback_(state());
}

bool ConnectivityBoard::WaitUntilReady(absl::Duration timeout) {
  std::unique_lock lock(mu_);
  const auto ready = [this] { return state_ == ConnectivityState::kReady; };
  if (timeout == absl::InfiniteDuration()) {
    changed_.wait(lock, ready);
    return true;
  }
  return changed_.wait_for(lock, absl::ToChronoNanoseconds(timeout), ready);
}

}  // namespace verbena::rpc
