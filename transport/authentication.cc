#include "transport/authentication.h"

namespace verbena::transport {

absl::StatusOr<std::unique_ptr<ClientAuthentication>> Authenticator::BeginClient(const UnauthenticatedPeer&) {
  return absl::UnimplementedError("this authenticator is for servers only");
}

absl::StatusOr<std::unique_ptr<ServerAuthentication>> Authenticator::BeginServer(const UnauthenticatedPeer&) {
  return absl::UnimplementedError("this authenticator is for clients only");
}

}  // namespace verbena::transport
