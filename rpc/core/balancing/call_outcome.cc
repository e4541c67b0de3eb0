#include "rpc/core/balancing/call_outcome.h"

namespace verbena::rpc {

CallOutcome OutcomeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return CallOutcome::kServerFault;
    case absl::StatusCode::kCancelled:
      return CallOutcome::kNoVerdict;
    default:  // Codes may be added; whatever they are, somebody answered.
      return CallOutcome::kAnswered;
  }
}

}  // namespace verbena::rpc
