// The text of a file of servers: one "address [weight]" a line, `#` begins a comment, empty lines are nothing. Pure;
// any thread.

#ifndef VERBENA_RPC_NAMES_ADDRESS_FILE_H_
#define VERBENA_RPC_NAMES_ADDRESS_FILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

// InvalidArgument, "line N: …", for the first line that is wrong; also if there is no server.
absl::StatusOr<std::vector<ServerAddress>> ParseAddressFile(absl::string_view text);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_ADDRESS_FILE_H_
