#include "rpc/connectivity_board.h"

#include <chrono>
#include <utility>

#include "transport/run_logging.h"

namespace verbena::rpc {
namespace {

// A clock of the standard library's reads 292 years at most.
constexpr absl::Duration kForEver = absl::Hours(100 * 365 * 24);

}  // namespace

ConnectivityState ConnectivityBoard::state() const {
  const std::lock_guard lock(mu_);
  return state_;
}

size_t ConnectivityBoard::ready() const {
  const std::lock_guard lock(mu_);
  return connections_[static_cast<size_t>(ConnectivityState::kReady)];
}

ConnectivityState ConnectivityBoard::Sum() const {
  for (const ConnectivityState state :
       {ConnectivityState::kReady, ConnectivityState::kConnecting, ConnectivityState::kTransientFailure}) {
    if (connections_[static_cast<size_t>(state)] > 0) return state;
  }
  return ConnectivityState::kIdle;
}

void ConnectivityBoard::Move(const ConnectivityState* from, const ConnectivityState* to) {
  std::unique_lock lock(mu_);
  if (from != nullptr) --connections_[static_cast<size_t>(*from)];
  if (to != nullptr) ++connections_[static_cast<size_t>(*to)];
  const ConnectivityState state = Sum();
  if (std::exchange(state_, state) == state) return;
  changed_.notify_all();
  untold_.push_back(state);
  Tell(lock);
}

void ConnectivityBoard::Tell(std::unique_lock<std::mutex>& lock) {
  if (std::exchange(telling_, true)) return;
  while (!untold_.empty()) {
    const ConnectivityState state = untold_.front();
    untold_.pop_front();
    if (callback_ == nullptr) continue;
    lock.unlock();
    RunLogging("a connectivity call-back", [&] { callback_(state); });
    lock.lock();
  }
  telling_ = false;
  changed_.notify_all();
}

void ConnectivityBoard::SetCallback(Callback callback) {
  std::unique_lock lock(mu_);
  changed_.wait(lock, [this] { return !telling_; });
  std::swap(callback_, callback);  // What is replaced goes without the lock: it may look at the channel.
  untold_.assign(1, state_);
  Tell(lock);
}

bool ConnectivityBoard::WaitUntilReady(absl::Duration timeout) {
  std::unique_lock lock(mu_);
  const auto ready = [this] { return state_ == ConnectivityState::kReady; };
  if (timeout >= kForEver) {
    changed_.wait(lock, ready);
    return true;
  }
  return changed_.wait_for(lock, absl::ToChronoNanoseconds(timeout), ready);
}

}  // namespace verbena::rpc
