#include "examples/daemon/wait_policy_flag.h"

namespace verbena::examples {

bool AbslParseFlag(absl::string_view text, WaitPolicyFlag* flag, std::string* error) {
  for (const WaitPolicy policy : {WaitPolicy::kBusy, WaitPolicy::kEvent, WaitPolicy::kAdaptive}) {
    if (text == AbslUnparseFlag({policy})) {
      flag->policy = policy;
      return true;
    }
  }
  *error = "must be busy, event or adaptive";
  return false;
}

std::string AbslUnparseFlag(const WaitPolicyFlag& flag) {
  switch (flag.policy) {
    case WaitPolicy::kBusy:
      return "busy";
    case WaitPolicy::kEvent:
      return "event";
    case WaitPolicy::kAdaptive:
      return "adaptive";
  }
  return "unknown";
}

}  // namespace verbena::examples
