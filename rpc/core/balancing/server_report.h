// Why no server can have a call, in words for who reads the log at night. Pure; any thread.

#ifndef VERBENA_RPC_CORE_BALANCING_SERVER_REPORT_H_
#define VERBENA_RPC_CORE_BALANCING_SERVER_REPORT_H_

#include <cstddef>

#include "absl/status/status.h"
#include "rpc/core/balancing/server_list.h"

namespace verbena::rpc {

// More are counted, not named: a status travels with each failed call.
inline constexpr size_t kServersNamedMax = 32;

// UNAVAILABLE, not sent (certainty.h), with each server and its reason, and what is wrong with the list, if anything
// is.
absl::Status NoServerStatus(const ServerList& servers);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_SERVER_REPORT_H_
