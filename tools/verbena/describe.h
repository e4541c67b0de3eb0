// `verbena describe`: a service, message, enum … of a server as .proto text, as its reflection says.

#ifndef VERBENA_TOOLS_VERBENA_DESCRIBE_H_
#define VERBENA_TOOLS_VERBENA_DESCRIBE_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "tools/verbena/server_schema.h"

namespace verbena::tools {

// `symbol` is a full name; a method may be written "package.Service/Method" as well.
absl::Status RunDescribe(ServerSchema& schema, const std::string& symbol, std::ostream& output);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_DESCRIBE_H_
