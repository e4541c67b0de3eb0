// `verbena health`: whether a server, or one of its services, takes calls.

#ifndef VERBENA_TOOLS_VERBENA_HEALTH_H_
#define VERBENA_TOOLS_VERBENA_HEALTH_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/channel.h"

namespace verbena::tools {

// Writes the status' name, "SERVING". OK only if it is that; Unavailable if it is another. Empty `service`: the server
// as a whole.
absl::Status RunHealth(std::shared_ptr<Channel> channel, const std::string& service, absl::Duration timeout,
                       std::ostream& output);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_HEALTH_H_
