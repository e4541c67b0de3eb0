#include "rpc/core/certainty.h"

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace verbena {

void SetCertaintyOfError(absl::Status* status, Certainty certainty) {
  status->SetPayload(kCertaintyTypeUrl, absl::Cord(ToString(certainty)));
}

Certainty GetCertaintyOfError(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kCertaintyTypeUrl);
  if (!payload.has_value()) return Certainty::kOutcomeUnknown;
  for (Certainty certainty : {Certainty::kNotSent, Certainty::kExecuted}) {
    if (*payload == ToString(certainty)) return certainty;
  }
  return Certainty::kOutcomeUnknown;
}

absl::string_view ToString(Certainty certainty) {
  switch (certainty) {
    case Certainty::kNotSent:
      return "not sent";
    case Certainty::kOutcomeUnknown:
      return "outcome unknown";
    case Certainty::kExecuted:
      return "executed";
  }
  return "unknown certainty";
}

}  // namespace verbena
