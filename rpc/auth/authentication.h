// Who may call: authenticators, which find out who a peer is before a connection is used, and authorizers, which say
// what it may call.
//
//   auto keys = verbena::SharedSecret::Create({{"2024-05", secret}});     // rpc/auth/shared_secret.h
//   builder.SetAuthenticator(*keys).SetAuthorizer(
//       [](const verbena::PeerIdentity& who, absl::string_view method, const verbena::Metadata&) {
//         return who.name == "2024-05" ? absl::OkStatus() : absl::PermissionDeniedError("not with this key");
//       });
//   channel_options.credentials = *keys;                                  // The client's side.
//
// Own authenticators derive from Authenticator; transport/authentication.h, which this brings, says what they promise.

#ifndef VERBENA_RPC_AUTH_AUTHENTICATION_H_
#define VERBENA_RPC_AUTH_AUTHENTICATION_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/metadata.h"
#include "transport/authentication.h"

namespace verbena {

using transport::Authenticator;         // Begins an exchange for each connection, of either side.
using transport::ClientAuthentication;  // An exchange, at the client.
using transport::PeerIdentity;          // Mechanism, name, attributes.
using transport::ProcessCredentials;    // The kernel's word on a process of this host.
using transport::ServerAuthentication;  // An exchange, at the server.
using transport::UnauthenticatedPeer;   // What is known of a connection before.

// Whether `caller` may call `method` ("package.Service/Method", one that the server has), once for each call: before
// its handler runs, and before a large request is fetched. Not OK: the call ends with that status, not sent;
// PERMISSION_DENIED if he may not, UNAUTHENTICATED if nobody may who is not somebody. Without an authenticator the
// caller is nobody: !caller.authenticated(). Thread: the event loops', several at a time; must not block. What it
// throws is a refusal.
using Authorizer =
    std::function<absl::Status(const PeerIdentity& caller, absl::string_view method, const Metadata& metadata)>;

}  // namespace verbena

#endif  // VERBENA_RPC_AUTH_AUTHENTICATION_H_
