// `verbena check`: whether calls work to a server, of every kind that uses the network differently.

#ifndef VERBENA_TOOLS_VERBENA_CHECK_H_
#define VERBENA_TOOLS_VERBENA_CHECK_H_

#include <memory>
#include <ostream>

#include "rpc/channel.h"

namespace verbena::tools {

// Makes the calls, to a server with CheckService, and writes a line for each kind to `output`, "ok" or "FAILED" and
// what was seen; then what the channel says of itself. False if one failed. Without a connection only the first is
// tried. Blocks, for a minute at most.
bool RunCheck(std::shared_ptr<Channel> channel, std::ostream& output);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_CHECK_H_
