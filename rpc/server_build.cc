// Apart from server.cc: this is what binds a server to the device network, which tests on doubles do not link.

#include <utility>

#include "rpc/device_network.h"
#include "rpc/server.h"
#include "rpc/server_core.h"

namespace verbena {

absl::StatusOr<std::unique_ptr<Server>> Server::Builder::Build() {
  absl::StatusOr<std::unique_ptr<rpc::ServerCore>> core =
      rpc::ServerCore::Start(rpc::DeviceNetwork(), options_, addresses_, services_, {authenticator_, authorizer_});
  if (!core.ok()) return core.status();
  return std::make_unique<Server>(*std::move(core));
}

}  // namespace verbena
