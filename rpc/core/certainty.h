// How sure a failed call's status is about what happened on the server. It decides whether a retry can do harm.
//
// It rides in the absl::Status as a payload, so it survives every function that passes a status on. Pure; any thread.
// Users include rpc/certainty.h.

#ifndef VERBENA_RPC_CORE_CERTAINTY_H_
#define VERBENA_RPC_CORE_CERTAINTY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena {

// The values are part of the wire format (docs/wire.md).
enum class Certainty : uint8_t {
  kNotSent = 0,         // The handler has not run and never will: a retry is safe.
  kOutcomeUnknown = 1,  // The request may have reached the handler; whether it ran, and how far, nobody here knows.
  kExecuted = 2,        // The status is the handler's own, or was decided after the handler had run.
};

// The payload's type url.
inline constexpr absl::string_view kCertaintyTypeUrl = "verbena.dev/certainty";

// Nothing happens to an OK status: it is always kExecuted.
void SetCertaintyOfError(absl::Status* status, Certainty certainty);
inline void SetCertainty(absl::Status* status, Certainty certainty) {
  if (!status->ok()) SetCertaintyOfError(status, certainty);
}

inline absl::Status WithCertainty(absl::Status status, Certainty certainty) {
  SetCertainty(&status, certainty);
  return status;
}

// OK: kExecuted. Without a payload, or with one that is not ours: kOutcomeUnknown, the answer that is never wrong.
Certainty GetCertaintyOfError(const absl::Status& status);
inline Certainty GetCertainty(const absl::Status& status) {
  return status.ok() ? Certainty::kExecuted : GetCertaintyOfError(status);
}

// "not sent", "outcome unknown", "executed".
absl::string_view ToString(Certainty certainty);

}  // namespace verbena

#endif  // VERBENA_RPC_CORE_CERTAINTY_H_
