// Who executes one-sided requests between processes of this host.
//
// The environment variable VERBENA_SOFT_ONE_SIDED says it: "auto" (as if unset), "direct" or "responder". Anything else
// is an error that linking reports.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_
#define VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_

#include <chrono>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::soft {

enum class OneSidedPolicy {
  kAuto,       // The initiator where the kernel lets it, else the responder; but a READ of a peer that polls is asked
               // of it (see read_asking.h). Each direction of a link by itself.
  kDirect,     // The initiator, always; no link is made where the kernel does not let it.
  kResponder,  // The responder, checking its own private table: for peers that do not trust each other.
  kAsking,     // For tests: as kAuto between processes, between the ends of one process too.
};

absl::StatusOr<OneSidedPolicy> TheOneSidedPolicy();

// What linking fails with under kDirect.
absl::Status NoDirectAccess(absl::string_view why);

// For tests: `policy` instead of the environment's, for links made from now on. None: the environment's again.
void OverrideOneSidedPolicy(std::optional<OneSidedPolicy> policy);
// For tests, under kAsking: how soon peers are to answer. At first nobody is ever late.
void OverridePatienceWhenAsking(std::chrono::nanoseconds patience);
std::chrono::nanoseconds PatienceWhenAsking();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ONE_SIDED_POLICY_H_
