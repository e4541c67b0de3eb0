// Apart from channel.cc: this is what binds a channel to the device network, which tests on doubles do not link.

#include <utility>

#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/device_network.h"
#include "transport/endpoint.h"

namespace verbena {

absl::StatusOr<std::shared_ptr<Channel>> Channel::Create(absl::string_view target, const ChannelOptions& options) {
  if (absl::Status checked = transport::CheckOptions(options.transport); !checked.ok()) return checked;
  absl::StatusOr<std::unique_ptr<rpc::ChannelCore>> core =
      rpc::ChannelCore::Open(rpc::DeviceNetwork(), target, options);
  if (!core.ok()) return core.status();
  return std::make_shared<Channel>(*std::move(core));
}

}  // namespace verbena
