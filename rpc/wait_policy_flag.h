// WaitPolicy as the value of an Abseil flag, "busy", "event" or "adaptive":
//   ABSL_FLAG(verbena::WaitPolicy, wait, verbena::WaitPolicy::kAdaptive, "…");

#ifndef VERBENA_RPC_WAIT_POLICY_FLAG_H_
#define VERBENA_RPC_WAIT_POLICY_FLAG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "transport/event_loop.h"

namespace verbena::transport {

// Found through argument-dependent lookup, hence in the enum's own namespace.
bool AbslParseFlag(absl::string_view text, WaitPolicy* policy, std::string* error);
std::string AbslUnparseFlag(WaitPolicy policy);

}  // namespace verbena::transport

#endif  // VERBENA_RPC_WAIT_POLICY_FLAG_H_
