// Authentication by the kernel's word: whose process is at the other end of a connection within one host.
//
// The software device has it within a host (SO_PEERCRED of the socket that it connects over). Where the device cannot
// tell, over RDMA and between hosts, both sides refuse in words. No secret crosses, and nothing can be replayed.
// Containers: user and group are as this process' user namespace sees them, as of when this was made. For all that have
// no number there the kernel says one id, "nobody": such a user is refused, and such a group is none.
//
// A peer's identity is {"peer-credentials", "uid:1000"}, with the attributes "uid", "gid" and "pid". The process id is
// that of the moment when it connected, and may be another's by now.
//
// Owner: shared by the channels and servers that it is given to. Thread: any.

#ifndef VERBENA_RPC_AUTH_PEER_CREDENTIALS_H_
#define VERBENA_RPC_AUTH_PEER_CREDENTIALS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/auth/authentication.h"
#include "rpc/auth/overflow_ids.h"

namespace verbena {

class PeerCredentials : public Authenticator {
 public:
  // A peer must have one of the users, or one of the groups as its own.
  struct Allowed {
    std::set<uint32_t> users;
    std::set<uint32_t> groups;
  };

  // Peers of this process' own user.
  static std::shared_ptr<PeerCredentials> OfThisUser();
  explicit PeerCredentials(Allowed allowed);

  absl::StatusOr<std::unique_ptr<ClientAuthentication>> BeginClient(const UnauthenticatedPeer& server) override;
  absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer& client) override;
  bool may_block() const override { return false; }

 private:
  class Client;
  class Server;

  // Who the peer is, or why it is not welcome.
  absl::StatusOr<PeerIdentity> Identify(const UnauthenticatedPeer& peer) const;

  const Allowed allowed_;
  const rpc::OverflowIds overflow_ = rpc::ReadOverflowIds();
};

}  // namespace verbena

#endif  // VERBENA_RPC_AUTH_PEER_CREDENTIALS_H_
