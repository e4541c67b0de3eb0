// Whether a channel has a connection. gRPC's states and words. Public API.

#ifndef VERBENA_RPC_CONNECTIVITY_H_
#define VERBENA_RPC_CONNECTIVITY_H_

#include "absl/strings/string_view.h"

namespace verbena {

enum class ConnectivityState {
  kIdle,              // No connection, and nobody wants one: left by the next call.
  kConnecting,        // The first attempt, or the first after one that was lost, is under way.
  kReady,             // Calls are sent at once.
  kTransientFailure,  // An attempt failed; others follow, with back-off, and the state stays until one succeeds.
};

inline constexpr absl::string_view ToString(ConnectivityState state) {
  switch (state) {
    case ConnectivityState::kIdle:
      return "IDLE";
    case ConnectivityState::kConnecting:
      return "CONNECTING";
    case ConnectivityState::kReady:
      return "READY";
    case ConnectivityState::kTransientFailure:
      return "TRANSIENT_FAILURE";
  }
  return "unknown";
}

}  // namespace verbena

#endif  // VERBENA_RPC_CONNECTIVITY_H_
