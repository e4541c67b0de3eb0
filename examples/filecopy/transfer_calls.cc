#include "examples/filecopy/transfer_calls.h"

#include "rpc/client_context.h"

namespace verbena::examples {

absl::StatusOr<filecopy::BeginReply> BeginTransfer(filecopy::FileCopy::Stub& stub,
                                                   const filecopy::BeginRequest& request, absl::Duration timeout,
                                                   bool wait_for_ready) {
  ClientContext context;
  context.set_timeout(timeout);
  context.set_wait_for_ready(wait_for_ready);
  filecopy::BeginReply reply;
  if (absl::Status status = stub.Begin(&context, request, &reply); !status.ok()) return status;
  if (reply.complete()) return reply;
  if (reply.chunk_bytes_max() == 0) return absl::InternalError("the server takes no chunks");
  if (reply.received_bytes() > (request.anew() ? 0 : request.bytes())) {
    return absl::InternalError("the server says that it has more than there is");
  }
  return reply;
}

absl::StatusOr<filecopy::FinishReply> FinishTransfer(filecopy::FileCopy::Stub& stub, uint64_t transfer,
                                                     const std::string& sha256, absl::Duration timeout) {
  ClientContext context;
  context.set_timeout(timeout);
  filecopy::FinishRequest request;
  request.set_transfer(transfer);
  request.set_sha256(sha256);
  filecopy::FinishReply reply;
  if (absl::Status status = stub.Finish(&context, request, &reply); !status.ok()) {
    return ForgottenIsUnavailable(std::move(status));
  }
  return reply;
}

void AbandonTransfer(filecopy::FileCopy::Stub& stub, uint64_t transfer) {
  ClientContext context;
  context.set_timeout(absl::Seconds(2));
  filecopy::AbandonRequest request;
  request.set_transfer(transfer);
  filecopy::AbandonReply reply;
  stub.Abandon(&context, request, &reply).IgnoreError();
}

bool IsInterruption(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Status ForgottenIsUnavailable(absl::Status status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace verbena::examples
