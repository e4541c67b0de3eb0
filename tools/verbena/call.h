// `verbena call`: a unary call from JSON to JSON, of messages that are known by the server's reflection alone.

#ifndef VERBENA_TOOLS_VERBENA_CALL_H_
#define VERBENA_TOOLS_VERBENA_CALL_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/channel.h"
#include "tools/verbena/server_schema.h"

namespace verbena::tools {

struct CallOptions {
  absl::Duration timeout;
  std::vector<std::string> metadata;  // "key:value".
};

// Writes the reply. `method` is "package.Service/Method" and outlives the channel. InvalidArgument: the JSON is not the
// method's request, or an entry of the metadata is none; Unimplemented: the method streams. Else as of the call.
absl::Status RunCall(Channel& channel, ServerSchema& schema, const std::string& method, const std::string& json,
                     const CallOptions& options, std::ostream& output);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_CALL_H_
