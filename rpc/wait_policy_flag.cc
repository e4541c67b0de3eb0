#include "rpc/wait_policy_flag.h"

namespace verbena::transport {

bool AbslParseFlag(absl::string_view text, WaitPolicy* policy, std::string* error) {
  for (const WaitPolicy known : {WaitPolicy::kBusy, WaitPolicy::kEvent, WaitPolicy::kAdaptive}) {
    if (text == AbslUnparseFlag(known)) {
      *policy = known;
      return true;
    }
  }
  *error = "must be busy, event or adaptive";
  return false;
}

std::string AbslUnparseFlag(WaitPolicy policy) {
  switch (policy) {
    case WaitPolicy::kBusy:
      return "busy";
    case WaitPolicy::kEvent:
      return "event";
    case WaitPolicy::kAdaptive:
      return "adaptive";
  }
  return "unknown";
}

}  // namespace verbena::transport
