// Authentication by a secret that both ends know: each proves to the other that it does, over nonces of both, and
// neither says it. The exchange is in docs/wire.md.
//
// Keys have ids, so that they can be changed: a server takes any of its keys, a client uses its first. Give the servers
// the next key, then the clients, then take the old one away. A peer's identity is {"shared-secret", key id}: two
// clients with one key are one to an authorizer.
//
// A secret is random bytes (head -c 32 /dev/urandom), not a password: who has seen an exchange can try guesses.
//
// Owner: shared by the channels and servers that it is given to. Thread: any. Memory of secrets is overwritten when it
// is given up.

#ifndef VERBENA_RPC_AUTH_SHARED_SECRET_H_
#define VERBENA_RPC_AUTH_SHARED_SECRET_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/auth/authentication.h"

namespace verbena {

class SharedSecret : public Authenticator {
 public:
  static constexpr size_t kSecretBytesMin = 16;
  static constexpr size_t kSecretBytesMax = 4096;
  static constexpr size_t kKeyIdBytesMax = 64;

  struct Key {
    std::string id;      // No secret: it is sent, and logged. 1 to kKeyIdBytesMax bytes.
    std::string secret;  // kSecretBytesMin to kSecretBytesMax bytes.
  };

  // InvalidArgument, naming the key but not its secret: no key, an id twice, a length that is not allowed.
  static absl::StatusOr<std::shared_ptr<SharedSecret>> Create(std::vector<Key> keys);
  ~SharedSecret() override;

  absl::StatusOr<std::unique_ptr<ClientAuthentication>> BeginClient(const UnauthenticatedPeer& server) override;
  absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer& client) override;
  bool may_block() const override { return false; }

 private:
  class Client;
  class Server;

  explicit SharedSecret(std::vector<Key> keys);
  const Key* Find(absl::string_view id) const;  // Null: there is none.

  std::vector<Key> keys_;  // Constant after Create.
  Key nobodys_;            // Stands for keys that are not there, so that those take as long.
};

}  // namespace verbena

#endif  // VERBENA_RPC_AUTH_SHARED_SECRET_H_
