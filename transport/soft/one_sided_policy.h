// Who executes one-sided requests between processes of this host.
//
// The environment variable VERBENA_SOFT_ONE_SIDED says it: "auto" (as if unset), "direct" or "responder". Anything else
// is an error that linking reports.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_
#define VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::soft {

enum class OneSidedPolicy {
  kAuto,       // The initiator where the kernel lets it, else the responder. Each direction of a link by itself.
  kDirect,     // The initiator; no link is made where the kernel does not let it.
  kResponder,  // The responder, checking its own private table: for peers that do not trust each other.
};

absl::StatusOr<OneSidedPolicy> TheOneSidedPolicy();

// What linking fails with under kDirect.
absl::Status NoDirectAccess(absl::string_view why);

// For tests: `policy` instead of the environment's, for links made from now on. None: the environment's again.
void OverrideOneSidedPolicy(std::optional<OneSidedPolicy> policy);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_
