#include "rpc/auth/peer_credentials.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena {

// The kernel has said everything before the exchange begins: its messages are empty.
class PeerCredentials::Client : public ClientAuthentication {
 public:
  explicit Client(PeerIdentity server) : server_(std::move(server)) {}
  absl::StatusOr<std::string> Respond(absl::string_view) override { return std::string(); }
  absl::StatusOr<PeerIdentity> Finish(absl::string_view) override { return server_; }

 private:
  const PeerIdentity server_;
};

class PeerCredentials::Server : public ServerAuthentication {
 public:
  explicit Server(absl::StatusOr<PeerIdentity> client) : client_(std::move(client)) {}
  absl::StatusOr<Answer> Judge(absl::string_view message) override {
    if (!message.empty()) return absl::UnauthenticatedError("the client has credentials of another kind");
    if (!client_.ok()) return client_.status();
    return Answer{"", *client_};
  }

 private:
  const absl::StatusOr<PeerIdentity> client_;
};

std::shared_ptr<PeerCredentials> PeerCredentials::OfThisUser() {
  return std::make_shared<PeerCredentials>(Allowed{{geteuid()}, {}});
}

PeerCredentials::PeerCredentials(Allowed allowed) : allowed_(std::move(allowed)) {}

absl::StatusOr<PeerIdentity> PeerCredentials::Identify(const UnauthenticatedPeer& peer) const {
  if (!peer.process.has_value()) {
    return absl::UnauthenticatedError(
        absl::StrCat("nobody vouches for the process at ", peer.address,
                     ": peer credentials are for the software device within one host, not for RDMA or between hosts"));
  }
  const ProcessCredentials& process = *peer.process;
  if (process.user == overflow_.user) {
    return absl::UnauthenticatedError(absl::StrCat("the user of the process at ", peer.address,
                                                   " has no number in this user namespace: the kernel says ",
                                                   process.user, " for all of those"));
  }
  const std::string name = absl::StrCat("uid:", process.user);
  const bool has_group = process.group != overflow_.group;
  if (!allowed_.users.contains(process.user) && !(has_group && allowed_.groups.contains(process.group))) {
    return absl::UnauthenticatedError(absl::StrCat(name, ", gid:", process.group, " is not among those allowed"));
  }
  PeerIdentity identity{
      "peer-credentials", name, {{"uid", absl::StrCat(process.user)}, {"pid", absl::StrCat(process.process)}}};
  if (has_group) identity.attributes["gid"] = absl::StrCat(process.group);
  return identity;
}

absl::StatusOr<std::unique_ptr<ClientAuthentication>> PeerCredentials::BeginClient(const UnauthenticatedPeer& server) {
  absl::StatusOr<PeerIdentity> identity = Identify(server);
  if (!identity.ok()) return identity.status();
  return std::make_unique<Client>(*std::move(identity));
}

// Refuses when it is asked rather than here, so that the client is told.
absl::StatusOr<std::unique_ptr<ServerAuthentication>> PeerCredentials::BeginServer(const UnauthenticatedPeer& client) {
  return std::make_unique<Server>(Identify(client));
}

}  // namespace verbena
