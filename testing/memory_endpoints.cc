#include "testing/memory_endpoints.h"

#include <string>
#include <utility>

#include "rpc/channel_core.h"
#include "rpc/server_core.h"
#include "transport/endpoint.h"

namespace verbena::testing {
namespace {

constexpr absl::string_view kAddress = "in-process:1";

// What a frame of the transport is besides a message's header and payload, at most.
constexpr size_t kFrameBytes = 128;

// The order of the members is that of their ends, from the last to the first.
struct KeptChannel {
  KeptChannel(std::shared_ptr<MemoryNetwork> kept, std::unique_ptr<rpc::ChannelCore> core)
      : network(std::move(kept)), channel(std::move(core)) {}

  const std::shared_ptr<MemoryNetwork> network;
  Channel channel;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> StartMemoryServer(MemoryNetwork& network, const std::vector<Service*>& services,
                                                          const ServerOptions& options) {
  if (absl::Status checked = transport::CheckOptions(options.transport); !checked.ok()) return checked;
  const size_t room = options.transport.receive_buffer_bytes - kFrameBytes;
  network.set_connection_options({.eager_bytes_max = room, .header_bytes_max = room});
  absl::StatusOr<std::unique_ptr<rpc::ServerCore>> core =
      rpc::ServerCore::Start(&network, options, {std::string(kAddress)}, services);
  if (!core.ok()) return core.status();
  return std::make_unique<Server>(*std::move(core));
}

absl::StatusOr<std::shared_ptr<Channel>> OpenMemoryChannel(std::shared_ptr<MemoryNetwork> network,
                                                           const ChannelOptions& options) {
  if (options.credentials != nullptr) {
    return absl::UnimplementedError(
        "a network in memory authenticates nobody: ChannelOptions::credentials must be null");
  }
  absl::StatusOr<std::unique_ptr<rpc::ChannelCore>> core = rpc::ChannelCore::Open(network.get(), kAddress, options);
  if (!core.ok()) return core.status();
  auto kept = std::make_shared<KeptChannel>(std::move(network), *std::move(core));
  return std::shared_ptr<Channel>(kept, &kept->channel);
}

}  // namespace verbena::testing
