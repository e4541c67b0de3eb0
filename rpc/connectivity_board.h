// A channel's connectivity, from that of all its connections: ready if one is; else connecting if one is; else failed
// if one is; else idle.
//
// Owner: the channel's core, and its connections' loops. Thread: any.

#ifndef VERBENA_RPC_CONNECTIVITY_BOARD_H_
#define VERBENA_RPC_CONNECTIVITY_BOARD_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "rpc/connectivity.h"

namespace verbena::rpc {

class ConnectivityBoard {
 public:
  using Callback = absl::AnyInvocable<void(ConnectivityState)>;

  // A connection that is idle as yet; one that is no more, in the state that it was in.
  void Add() { Move(nullptr, &kIdle); }
  void Remove(ConnectivityState state) { Move(&state, nullptr); }
  void Change(ConnectivityState from, ConnectivityState to) { Move(&from, &to); }

  ConnectivityState state() const;
  size_t ready() const;  // Connections.
  // See Channel::SetConnectivityCallback.
  void SetCallback(Callback callback);
  // False: `timeout` passed first.
  bool WaitUntilReady(absl::Duration timeout);

 private:
  static constexpr ConnectivityState kIdle = ConnectivityState::kIdle;
  static constexpr size_t kStates = 4;

  void Move(const ConnectivityState* from, const ConnectivityState* to);
  ConnectivityState Sum() const;
  // Tells what is untold, in its order and without the lock: what that leads to, on whichever thread, is told by who
  // tells already.
  void Tell(std::unique_lock<std::mutex>& lock);

  Callback callback_;  // The telling thread's while telling_, else guarded by mu_.

  mutable std::mutex mu_;
  bool telling_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<ConnectivityState> untold_ ABSL_GUARDED_BY(mu_);
  std::condition_variable changed_;
  std::array<size_t, kStates> connections_ ABSL_GUARDED_BY(mu_) = {};  // By state.
  ConnectivityState state_ ABSL_GUARDED_BY(mu_) = ConnectivityState::kIdle;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CONNECTIVITY_BOARD_H_
