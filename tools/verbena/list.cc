#include "tools/verbena/list.h"

#include <vector>

#include "absl/status/statusor.h"

namespace verbena::tools {
namespace {

absl::Status ListServices(ServerSchema& schema, std::ostream& output) {
  const absl::StatusOr<std::vector<std::string>> services = schema.ListServices();
  if (!services.ok()) return services.status();
  for (const std::string& service : *services) output << service << '\n';
  return absl::OkStatus();
}

absl::Status ListMethods(ServerSchema& schema, const std::string& name, std::ostream& output) {
  const absl::StatusOr<const google::protobuf::ServiceDescriptor*> service = schema.FindService(name);
  if (!service.ok()) return service.status();
  for (int i = 0; i < (*service)->method_count(); ++i) output << name << '/' << (*service)->method(i)->name() << '\n';
  return absl::OkStatus();
}

}  // namespace

absl::Status RunList(ServerSchema& schema, const std::string& service, std::ostream& output) {
  return service.empty() ? ListServices(schema, output) : ListMethods(schema, service, output);
}

}  // namespace verbena::tools
