// `verbena list`: what a server serves, as its reflection says.

#ifndef VERBENA_TOOLS_VERBENA_LIST_H_
#define VERBENA_TOOLS_VERBENA_LIST_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "tools/verbena/server_schema.h"

namespace verbena::tools {

// Writes a line for each service, or, of `service` if that is not empty, for each method: "package.Service/Method".
absl::Status RunList(ServerSchema& schema, const std::string& service, std::ostream& output);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_LIST_H_
