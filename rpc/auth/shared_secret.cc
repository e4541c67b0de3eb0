#include "rpc/auth/shared_secret.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "rpc/auth/shared_secret_proof.h"

namespace verbena {
namespace {

using rpc::MakeSharedSecretProof;
using rpc::ProofRole;
using rpc::SharedSecretTranscript;

constexpr absl::string_view kMechanism = "shared-secret";
constexpr char kVersion = 1;  // The first byte of the exchange.

absl::string_view TextOf(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// `from` has as many bytes.
Nonce NonceOf(absl::string_view from) {
  Nonce nonce;
  std::copy_n(BytesOf(from).begin(), nonce.size(), nonce.begin());
  return nonce;
}

PeerIdentity IdentityOf(absl::string_view key_id) { return {std::string(kMechanism), std::string(key_id), {}}; }

absl::Status Malformed(absl::string_view what) {
  return absl::UnauthenticatedError(absl::StrCat("the peer does not speak the shared-secret exchange: ", what));
}

void Cleanse(std::string& secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

// What HMAC makes of a key that is longer than SHA-256's block, each time (RFC 2104): the proofs are the same, and take
// as long as with any other key.
void Shorten(std::string& secret) {
  if (secret.size() <= SHA256_CBLOCK) return;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  const auto* bytes = reinterpret_cast<const unsigned char*>(secret.data());
  if (SHA256(bytes, secret.size(), digest) == nullptr) return;  // Then there are no proofs either.
  Cleanse(secret);
  secret.assign(std::begin(digest), std::end(digest));
  OPENSSL_cleanse(digest, sizeof(digest));
}

absl::Status CheckKey(const SharedSecret::Key& key) {
  if (key.id.empty() || key.id.size() > SharedSecret::kKeyIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key id has ", key.id.size(), " bytes; it must have 1 to ", SharedSecret::kKeyIdBytesMax));
  }
  if (key.secret.size() < SharedSecret::kSecretBytesMin || key.secret.size() > SharedSecret::kSecretBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the secret of key \"", absl::CHexEscape(key.id), "\" has ", key.secret.size(),
                     " bytes; it must have ", SharedSecret::kSecretBytesMin, " to ", SharedSecret::kSecretBytesMax));
  }
  return absl::OkStatus();
}

}  // namespace

class SharedSecret::Client : public ClientAuthentication {
 public:
  Client(const Key* key, uint64_t epoch) : key_(*key) {
    transcript_.epoch = epoch;
    transcript_.client_nonce = RandomNonce();
    transcript_.key_id = key->id;
  }

  absl::StatusOr<std::string> Respond(absl::string_view challenge) override {
    if (!std::exchange(begun_, true)) {
      return absl::StrCat(std::string(1, kVersion), TextOf(transcript_.client_nonce), key_.id);
    }
    if (std::exchange(proved_, true)) return Malformed("it asks for a second proof");
    if (challenge.size() != kNonceBytes) return Malformed("its challenge is no nonce");
    transcript_.server_nonce = NonceOf(challenge);
    return std::string(TextOf(MakeSharedSecretProof(ProofRole::kClient, key_.secret, transcript_)));
  }

  absl::StatusOr<PeerIdentity> Finish(absl::string_view message) override {
    if (!proved_) return Malformed("it accepts without a proof");
    if (!SameProof(BytesOf(message), MakeSharedSecretProof(ProofRole::kServer, key_.secret, transcript_))) {
      return absl::UnauthenticatedError(
          absl::StrCat("the server does not prove that it knows key \"", absl::CHexEscape(key_.id), "\""));
    }
    return IdentityOf(key_.id);
  }

 private:
  const Key& key_;
  SharedSecretTranscript transcript_;
  bool begun_ = false;
  bool proved_ = false;
};

class SharedSecret::Server : public ServerAuthentication {
 public:
  Server(const SharedSecret* keys, uint64_t epoch) : keys_(*keys) { transcript_.epoch = epoch; }

  absl::StatusOr<Answer> Judge(absl::string_view message) override {
    return std::exchange(challenged_, true) ? CheckProof(message) : Challenge(message);
  }

 private:
  absl::StatusOr<Answer> Challenge(absl::string_view message) {
    constexpr size_t kIdAt = 1 + kNonceBytes;
    if (message.size() <= kIdAt || message.size() > kIdAt + kKeyIdBytesMax || message[0] != kVersion) {
      return Malformed("its first message is none");
    }
    transcript_.client_nonce = NonceOf(message.substr(1));
    transcript_.server_nonce = RandomNonce();
    transcript_.key_id = std::string(message.substr(kIdAt));
    return Answer{std::string(TextOf(transcript_.server_nonce)), std::nullopt};
  }

  absl::StatusOr<Answer> CheckProof(absl::string_view message) {
    const Key* const known = keys_.Find(transcript_.key_id);
    const Key& key = known != nullptr ? *known : keys_.nobodys_;
    const bool proved = SameProof(BytesOf(message), MakeSharedSecretProof(ProofRole::kClient, key.secret, transcript_));
    if (!proved || known == nullptr) {
      return absl::UnauthenticatedError(
          absl::StrCat(known == nullptr ? "there is no key \"" : "a wrong proof of key \"",
                       absl::CHexEscape(transcript_.key_id), "\""));
    }
    const Proof ours = MakeSharedSecretProof(ProofRole::kServer, key.secret, transcript_);
    return Answer{std::string(TextOf(ours)), IdentityOf(key.id)};
  }

  const SharedSecret& keys_;
  SharedSecretTranscript transcript_;
  bool challenged_ = false;
};

absl::StatusOr<std::shared_ptr<SharedSecret>> SharedSecret::Create(std::vector<Key> keys) {
  // Takes the keys first: what it does not want is overwritten, too.
  std::shared_ptr<SharedSecret> made(new SharedSecret(std::move(keys)));
  if (made->keys_.empty()) return absl::InvalidArgumentError("a shared secret needs at least one key");
  for (const Key& key : made->keys_) {
    if (absl::Status status = CheckKey(key); !status.ok()) return status;
    if (made->Find(key.id) != &key) {
      return absl::InvalidArgumentError(absl::StrCat("key \"", absl::CHexEscape(key.id), "\" is there twice"));
    }
  }
  for (Key& key : made->keys_) Shorten(key.secret);
  return made;
}

SharedSecret::SharedSecret(std::vector<Key> keys) : keys_(std::move(keys)) {
  nobodys_.secret = std::string(TextOf(RandomNonce()));
}

SharedSecret::~SharedSecret() {
  for (Key& key : keys_) Cleanse(key.secret);
  Cleanse(nobodys_.secret);
}

const SharedSecret::Key* SharedSecret::Find(absl::string_view id) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [id](const Key& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

absl::StatusOr<std::unique_ptr<ClientAuthentication>> SharedSecret::BeginClient(const UnauthenticatedPeer& server) {
  return std::make_unique<Client>(&keys_.front(), server.epoch);
}

absl::StatusOr<std::unique_ptr<ServerAuthentication>> SharedSecret::BeginServer(const UnauthenticatedPeer& client) {
  return std::make_unique<Server>(this, client.epoch);
}

}  // namespace verbena
