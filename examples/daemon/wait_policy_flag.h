// --wait=busy|event|adaptive, as an Abseil flag:
//   ABSL_FLAG(verbena::examples::WaitPolicyFlag, wait, {}, "…");

#ifndef VERBENA_EXAMPLES_DAEMON_WAIT_POLICY_FLAG_H_
#define VERBENA_EXAMPLES_DAEMON_WAIT_POLICY_FLAG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "rpc/options.h"

namespace verbena::examples {

struct WaitPolicyFlag {
  WaitPolicy policy = WaitPolicy::kAdaptive;
};

// Found by Abseil's flags through argument-dependent lookup.
bool AbslParseFlag(absl::string_view text, WaitPolicyFlag* flag, std::string* error);
std::string AbslUnparseFlag(const WaitPolicyFlag& flag);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_DAEMON_WAIT_POLICY_FLAG_H_
