#include "rpc/core/reconnect.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace verbena::rpc {

void Reconnect::BeginConnect() {
  assert(state_ == State::kDisconnected);
  state_ = State::kConnecting;
}

void Reconnect::OnConnected(absl::Time now) {
  assert(state_ == State::kConnecting);
  state_ = State::kConnected;
  connected_at_ = now;
}

void Reconnect::OnConnectFailed(absl::Time now) {
  assert(state_ == State::kConnecting);
  state_ = State::kDisconnected;
  BackOff(now);
}

void Reconnect::OnLost(absl::Time now) {
  assert(state_ == State::kConnected);
  state_ = State::kDisconnected;
  if (now - connected_at_ >= options_.stable_after) failures_ = 0;
  BackOff(now);
}

void Reconnect::BackOff(absl::Time now) {
  ++failures_;
  if (failures_ == 1) {
    not_before_ = now;
    return;
  }
  const absl::Duration grown = options_.delay_min * std::pow(options_.growth, failures_ - 2);
  not_before_ = now + std::min(grown, options_.delay_max) * NextJitterFactor();
}

// splitmix64 (Steele, Lea, Flood 2014): small, seeded, good enough to spread attempts.
double Reconnect::NextJitterFactor() {
  random_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  const double unit = static_cast<double>(mixed >> 11) / static_cast<double>(uint64_t{1} << 53);  // [0, 1)
  return 1 + options_.jitter * (2 * unit - 1);
}

const char* ToString(Reconnect::State state) {
  switch (state) {
    case Reconnect::State::kDisconnected:
      return "disconnected";
    case Reconnect::State::kConnecting:
      return "connecting";
    case Reconnect::State::kConnected:
      return "connected";
  }
  return "?";
}

}  // namespace verbena::rpc
