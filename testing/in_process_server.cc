#include "testing/in_process_server.h"

#include <utility>

#include "rpc/testing/memory_network.h"
#include "testing/memory_endpoints.h"

namespace verbena::testing {

absl::StatusOr<std::unique_ptr<InProcessServer>> InProcessServer::Start(const std::vector<Service*>& services,
                                                                        const ServerOptions& options) {
  std::unique_ptr<InProcessServer> server(new InProcessServer(std::make_shared<MemoryNetwork>()));
  absl::StatusOr<std::unique_ptr<Server>> started = StartMemoryServer(*server->network_, services, options);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

InProcessServer::InProcessServer(std::shared_ptr<MemoryNetwork> network)
    : network_(std::move(network)), faults_(network_) {}

InProcessServer::~InProcessServer() = default;

absl::StatusOr<std::shared_ptr<Channel>> InProcessServer::NewChannel(const ChannelOptions& options) {
  return OpenMemoryChannel(network_, options);
}

}  // namespace verbena::testing
