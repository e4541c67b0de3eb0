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

void Reconnect::OnRefused(absl::Time now) {
  assert(state_ == State::kConnecting);
  state_ = State::kDisconnected;
  ++failures_;
  not_before_ = now + options_.delay_max * random_.NextJitterFactor(options_.jitter);
}

void Reconnect::OnLost(absl::Time now) {
  assert(state_ == State::kConnected);
  state_ = State::kDisconnected;
  if (now - connected_at_ >= options_.stable_after) failures_ = 0;
  BackOff(now);
}

void Reconnect::OnClosed() {
  assert(state_ == State::kConnected);
  state_ = State::kDisconnected;
  failures_ = 0;
  not_before_ = absl::InfinitePast();
}

void Reconnect::BackOff(absl::Time now) {
  ++failures_;
  if (failures_ == 1) {
    not_before_ = now;
    return;
  }
  const absl::Duration grown = options_.delay_min * std::pow(options_.growth, failures_ - 2);
  not_before_ = now + std::min(grown, options_.delay_max) * random_.NextJitterFactor(options_.jitter);
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
