#include "tests/integration/probe_service.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "rpc/payload.h"
#include "rpc/server_context.h"

namespace verbena::probe {

absl::Status ProbeService::Echo(ServerContext* context, const EchoRequest* request, EchoReply* reply) {
  reply->set_body(request->body());
  context->set_attachment(context->attachment());
  return absl::OkStatus();
}

absl::Status ProbeService::Hold(ServerContext* context, const HoldRequest* request, HoldReply*) {
  const absl::Time end = absl::Now() + absl::Milliseconds(request->milliseconds());
  while (absl::Now() < end && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
  return absl::OkStatus();
}

absl::Status ProbeService::Fetch(ServerContext* context, const FetchRequest* request, FetchReply*) {
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(request->bytes());
  if (!memory.ok()) return memory.status();
  std::fill_n(memory->data(), memory->size(), std::byte{kFetchedByte});
  context->set_attachment(std::move(*memory).ToCord());
  return absl::OkStatus();
}

}  // namespace verbena::probe
