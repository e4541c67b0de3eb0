#include "benchmarks/rpc_bench/echo_call.h"

#include <cstring>
#include <string>
#include <utility>

#include "rpc/payload.h"

namespace verbena::benchmarks {

absl::StatusOr<absl::Cord> MakeAttachment(size_t bytes) {
  if (bytes == 0) return absl::Cord();
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(bytes);
  if (!memory.ok()) return memory.status();
  std::memset(memory->data(), 'v', memory->size());
  return (*std::move(memory)).ToCord();
}

absl::StatusOr<std::unique_ptr<EchoCall>> EchoCall::Create(const EchoShape& shape) {
  auto call = std::make_unique<EchoCall>();
  call->request.set_payload(std::string(shape.payload_bytes, 'v'));
  absl::StatusOr<absl::Cord> attachment = MakeAttachment(shape.attachment_bytes);
  if (!attachment.ok()) return attachment.status();
  call->attachment = *std::move(attachment);
  return call;
}

absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> EchoCall::CreateMany(const EchoShape& shape, size_t count) {
  std::vector<std::unique_ptr<EchoCall>> calls;
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<EchoCall>> call = Create(shape);
    if (!call.ok()) return call.status();
    calls.push_back(*std::move(call));
  }
  return calls;
}

void EchoCall::Renew(std::chrono::steady_clock::time_point from) {
  context.Reset();
  if (!attachment.empty()) context.set_attachment(attachment);
  start = from;
}

}  // namespace verbena::benchmarks
