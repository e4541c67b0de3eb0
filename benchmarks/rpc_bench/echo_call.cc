#include "benchmarks/rpc_bench/echo_call.h"

#include <cstring>
#include <string>
#include <utility>

#include "rpc/payload.h"

namespace verbena::benchmarks {

absl::StatusOr<std::unique_ptr<EchoCall>> EchoCall::Create(const EchoShape& shape) {
  auto call = std::make_unique<EchoCall>();
  call->request.set_payload(std::string(shape.payload_bytes, 'v'));
  if (shape.attachment_bytes > 0) {
    absl::StatusOr<PayloadMemory> memory = AllocatePayload(shape.attachment_bytes);
    if (!memory.ok()) return memory.status();
    std::memset(memory->data(), 'v', memory->size());
    call->attachment = (*std::move(memory)).ToCord();
  }
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
