// A server and channels to it on a network in memory: what the servers for tests have in common.

#ifndef VERBENA_TESTING_MEMORY_ENDPOINTS_H_
#define VERBENA_TESTING_MEMORY_ENDPOINTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "rpc/testing/memory_network.h"

namespace verbena::testing {

// `network` outlives the server; messages on it are cut as by a device with receive buffers of the server's size.
absl::StatusOr<std::unique_ptr<Server>> StartMemoryServer(MemoryNetwork& network, const std::vector<Service*>& services,
                                                          const ServerOptions& options);

// The channel keeps the network.
absl::StatusOr<std::shared_ptr<Channel>> OpenMemoryChannel(std::shared_ptr<MemoryNetwork> network,
                                                           const ChannelOptions& options);

}  // namespace verbena::testing

#endif  // VERBENA_TESTING_MEMORY_ENDPOINTS_H_
