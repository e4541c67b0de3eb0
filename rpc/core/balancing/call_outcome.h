// What a call's status says about its server. Pure; any thread.

#ifndef VERBENA_RPC_CORE_BALANCING_CALL_OUTCOME_H_
#define VERBENA_RPC_CORE_BALANCING_CALL_OUTCOME_H_

#include "absl/status/status.h"

namespace verbena::rpc {

enum class CallOutcome {
  kAnswered,     // The server does its work: OK, and every error that the application decides (NOT_FOUND, …).
  kServerFault,  // It does not, or not in time.
  kNoVerdict,    // The client gave up.
};

// The server's fault are UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL, UNKNOWN and DATA_LOSS: what Envoy maps to 5xx, but
// for UNIMPLEMENTED, by which one client with a method that servers do not know yet would eject them all.
// RESOURCE_EXHAUSTED is not: it is also what a message past the client's own limits ends with.
CallOutcome OutcomeOf(absl::StatusCode code);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_CALL_OUTCOME_H_
