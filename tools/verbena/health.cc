#include "tools/verbena/health.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/client_context.h"
#include "rpc/health/health.verbena.h"

namespace verbena::tools {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

absl::Status RunHealth(std::shared_ptr<Channel> channel, const std::string& service, absl::Duration timeout,
                       std::ostream& output) {
  ClientContext context;
  context.set_timeout(timeout);
  HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  absl::Status status = Health::Stub(std::move(channel)).Check(&context, request, &response);
  if (absl::IsUnimplemented(status)) {
    return absl::UnimplementedError(
        absl::StrCat(status.message(), "; it has to register a verbena::HealthService (//rpc/health)"));
  }
  if (!status.ok()) return status;
  output << HealthCheckResponse::ServingStatus_Name(response.status()) << '\n';
  if (response.status() == HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(service.empty() ? "the server" : service, " is not serving"));
}

}  // namespace verbena::tools
