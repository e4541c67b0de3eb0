#include "tools/verbena/check_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/server_context.h"
#include "tools/verbena/pattern.h"

namespace verbena::tools {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(10);

absl::Status CheckSize(const check::Pattern& pattern) {
  if (pattern.bytes() <= CheckService::kPatternBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(pattern.bytes(), " bytes are more than ", CheckService::kPatternBytesMax));
}

}  // namespace

absl::Status CheckService::Echo(ServerContext*, const check::EchoRequest* request, check::EchoReply* reply) {
  reply->set_payload(request->payload());
  return absl::OkStatus();
}

absl::Status CheckService::Take(ServerContext* context, const check::Pattern* request, check::Nothing*) {
  if (absl::Status status = CheckSize(*request); !status.ok()) return status;
  return ComparePattern(context->attachment(), request->seed(), request->bytes());
}

absl::Status CheckService::Give(ServerContext* context, const check::Pattern* request, check::Nothing*) {
  if (absl::Status status = CheckSize(*request); !status.ok()) return status;
  absl::StatusOr<absl::Cord> pattern = MakePattern(request->seed(), request->bytes());
  if (!pattern.ok()) return pattern.status();
  context->set_attachment(*std::move(pattern));
  return absl::OkStatus();
}

absl::Status CheckService::Hold(ServerContext* context, const check::Nothing*, check::Nothing*) {
  while (!context->IsCancelled()) absl::SleepFor(kBetweenLooks);
  return absl::CancelledError("nobody waits any more");
}

}  // namespace verbena::tools
