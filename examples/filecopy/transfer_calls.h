// The calls of filecopy.proto around the chunks, blocking, and what their failures mean for a copy.

#ifndef VERBENA_EXAMPLES_FILECOPY_TRANSFER_CALLS_H_
#define VERBENA_EXAMPLES_FILECOPY_TRANSFER_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/filecopy/filecopy.verbena.h"

namespace verbena::examples {

// `wait_for_ready`: for a server that is away, as long as `timeout` lasts.
absl::StatusOr<filecopy::BeginReply> BeginTransfer(filecopy::FileCopy::Stub& stub,
                                                   const filecopy::BeginRequest& request, absl::Duration timeout,
                                                   bool wait_for_ready);

absl::StatusOr<filecopy::FinishReply> FinishTransfer(filecopy::FileCopy::Stub& stub, uint64_t transfer,
                                                     const std::string& sha256, absl::Duration timeout);

// Its outcome does not matter: a server that does not hear of it drops the transfer when it has been idle for long.
void AbandonTransfer(filecopy::FileCopy::Stub& stub, uint64_t transfer);

// Whether a copy that failed like this can go on where it was: the server, or the way to it, was away or too slow.
// However sure the status is of what happened to its call, Begin finds out.
bool IsInterruption(const absl::Status& status);

// Of Write and Finish: a transfer that the server does not know any more is an interruption.
absl::Status ForgottenIsUnavailable(absl::Status status);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_TRANSFER_CALLS_H_
