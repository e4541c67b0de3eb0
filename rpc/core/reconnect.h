// When a channel's connection is made, and made again: a machine without a clock or a connector.
//
// The first attempt, and the first after a connection that held, is due at once. Each failure, or a connection lost
// before it has proved itself, makes the next attempt wait longer: exponential back-off with jitter, so that a thousand
// clients of a server that restarts do not come back in the same instant.
//
// Order of calls: while ShouldConnect, BeginConnect; then OnConnected, OnConnectFailed or OnRefused; after OnConnected,
// OnLost or OnClosed.

#ifndef VERBENA_RPC_CORE_RECONNECT_H_
#define VERBENA_RPC_CORE_RECONNECT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "rpc/core/split_mix.h"

namespace verbena::rpc {

struct ReconnectOptions {
  absl::Duration delay_min = absl::Milliseconds(50);  // After the second failure in a row; the first costs nothing.
  absl::Duration delay_max = absl::Seconds(5);
  double growth = 1.6;
  double jitter = 0.2;                             // A delay is drawn from [1 - jitter, 1 + jitter] times its value.
  absl::Duration stable_after = absl::Seconds(1);  // A connection that held this long has proved itself.
};

class Reconnect {
 public:
  enum class State {
    kDisconnected,  // Left when an attempt is wanted and due.
    kConnecting,    // Left by the connector's answer.
    kConnected,     // Left by the loss of the connection.
  };

  Reconnect(const ReconnectOptions& options, uint64_t seed) : options_(options), random_(seed) {}

  // Whether an attempt that somebody wants is due. False in every state but kDisconnected.
  bool ShouldConnect(absl::Time now) const { return state_ == State::kDisconnected && now >= not_before_; }
  // The instant from which ShouldConnect is true. InfiniteFuture: not before something else happens.
  absl::Time NextAttempt() const { return state_ == State::kDisconnected ? not_before_ : absl::InfiniteFuture(); }

  void BeginConnect();
  void OnConnected(absl::Time now);
  void OnConnectFailed(absl::Time now);
  // The same, because one side refuses the other for who it is: it will again, so the next attempt is a long time off.
  void OnRefused(absl::Time now);
  void OnLost(absl::Time now);
  void OnClosed();  // On purpose: the next attempt is due at once.

  State state() const { return state_; }
  uint32_t failures() const { return failures_; }  // In a row.

 private:
  void BackOff(absl::Time now);

  const ReconnectOptions options_;

  State state_ = State::kDisconnected;
  uint32_t failures_ = 0;
  absl::Time not_before_ = absl::InfinitePast();
  absl::Time connected_at_;
  SplitMix64 random_;
};

const char* ToString(Reconnect::State state);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_RECONNECT_H_
