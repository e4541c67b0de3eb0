// Who a peer is: what an authenticator finds out before a connection is anybody's, by an exchange of messages with the
// authenticator at the other end.
//
// An Authenticator is one for many connections; for each it begins an exchange, as the client or as the server. The
// messages are opaque to the transport, at most 4096 bytes each (less where the peer's receive buffer is smaller) and
// at most 8 from each side; docs/wire.md has the order. A refusal is a status: its message is for the log and the
// caller of this process, and the peer never sees it.
//
// Owner: the channel or the server that was given it, shared, and kept to the end of its exchanges; an exchange by its
// connection. Thread: Begin… on any
// loop's, several at a time, and must not block. The calls of one exchange one at a time: on the connection's loop, or,
// if may_block, on another thread. What they throw is a refusal.

#ifndef VERBENA_TRANSPORT_AUTHENTICATION_H_
#define VERBENA_TRANSPORT_AUTHENTICATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::transport {

// Who a peer was found to be.
struct PeerIdentity {
  std::string mechanism;                          // How: "shared-secret". Empty: nobody asked.
  std::string name;                               // Who: what authorization goes by. Unique within the mechanism.
  std::map<std::string, std::string> attributes;  // What else the authenticator knows.

  bool authenticated() const { return !mechanism.empty(); }
};

// The kernel's word on a process of this host, as of the moment when it connected, or began to listen.
struct ProcessCredentials {
  uint32_t user = 0;
  uint32_t group = 0;
  int32_t process = 0;
};

// What is known of a connection whose peer is not.
struct UnauthenticatedPeer {
  uint64_t epoch = 0;                         // Of the connection: random, chosen by the client. Binds proofs to it.
  std::string address;                        // For people: "soft://127.0.0.1:40112".
  std::optional<ProcessCredentials> process;  // Nothing where the device cannot tell: RDMA, and soft between hosts.
};

class ClientAuthentication {
 public:
  virtual ~ClientAuthentication() = default;
  // The next message to the server. `challenge` is the server's; empty in the first call.
  virtual absl::StatusOr<std::string> Respond(absl::string_view challenge) = 0;
  // The server has accepted this client, with this message: who the server is, if it is who it should be.
  virtual absl::StatusOr<PeerIdentity> Finish(absl::string_view message) = 0;
};

class ServerAuthentication {
 public:
  struct Answer {
    std::string message;
    std::optional<PeerIdentity> client;  // Set: the client is accepted, and `message` is the last.
  };
  virtual ~ServerAuthentication() = default;
  virtual absl::StatusOr<Answer> Judge(absl::string_view message) = 0;
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Unimplemented, where an authenticator serves one side only.
  virtual absl::StatusOr<std::unique_ptr<ClientAuthentication>> BeginClient(const UnauthenticatedPeer& server);
  virtual absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer& client);
  // Whether the calls of its exchanges may take their time. False: they return at once, and run on the event loop.
  virtual bool may_block() const { return true; }
};

// What an endpoint authenticates with. Without an authenticator nobody is asked, and nobody may insist on it.
struct AuthenticationPolicy {
  std::shared_ptr<Authenticator> authenticator;
  // Runs tasks on another thread, for an authenticator that may block; nothing that it runs may outlive the loops.
  // False: there is no room, and the task is destroyed. Empty: on the loop.
  std::function<bool(absl::AnyInvocable<void()> task)> run;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_AUTHENTICATION_H_
