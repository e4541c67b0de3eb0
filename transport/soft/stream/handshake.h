// How a stream begins: both ends say what they are, and prove that they know the shared secret if there is one.
//
//   active: hello ->                          passive
//                                  <- hello, with a verdict
//           proof ->                                         only with a secret
//                                  <- verdict, proof          only with a secret
//
// The active end proves first, so that whoever merely connects learns nothing made with the secret. A proof is
// HMAC-SHA-256 over the role of who proves, both hellos with their nonces, and both ends' addresses as each sees them;
// so it is good for this connection only. Afterwards bytes are neither encrypted nor authenticated one by one.
//
// Hello, kHelloBytes, little-endian:   0 mark[8]   8 u16 version   10 u16 verdict   12 u32 flags   16 nonce[32]
// Proof: 32 bytes. The last answer: u16 verdict, 6 bytes of zeros, proof.
//
// Sans-IO. Receive what comes, at most wanted_bytes() of it; send TakeOutput() after construction and every Receive.
// Thread: one.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_HANDSHAKE_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "transport/soft/stream/shared_secret.h"

namespace verbena::soft {

enum class Verdict : uint16_t {
  kWelcome = 0,
  kOtherVersion = 1,
  kSecretNeeded = 2,   // The passive end has a secret, the active one none.
  kSecretUnknown = 3,  // The other way round.
  kWrongProof = 4,
};

// In words, for a person: what was wrong between the two hosts.
const char* ToString(Verdict verdict);

class Handshake {
 public:
  enum class Role { kActive, kPassive };
  enum class State {
    kOpen,     // More is to be received.
    kDone,     // Both ends welcome each other.
    kRefused,  // See verdict(). Output that is left tells the peer.
    kForeign,  // The other end does not speak this protocol.
  };

  // `addresses` names the two ends of the connection, the active one first, the same at both.
  Handshake(Role role, std::optional<SharedSecret> secret, std::string addresses, const Nonce& nonce);

  State state() const { return state_; }
  Verdict verdict() const { return verdict_; }

  // Never 0 while the state is kOpen.
  size_t wanted_bytes() const { return wanted_ - received_.size(); }
  // At most wanted_bytes(). Only while the state is kOpen.
  void Receive(absl::Span<const std::byte> bytes);

  std::vector<std::byte> TakeOutput() { return std::exchange(output_, {}); }

 private:
  enum class Awaited { kHello, kProof, kLastAnswer };

  bool MarkIsWrong() const;
  void OnPassiveHello();
  void OnActiveHello();
  void OnProof();
  void OnLastAnswer();
  void Await(Awaited what, size_t bytes);
  void End(Verdict verdict);
  void SendHello(Verdict verdict);
  Proof ProofOf(Role role) const;

  const Role role_;
  const std::optional<SharedSecret> secret_;
  const std::string addresses_;
  const Nonce nonce_;

  State state_ = State::kOpen;
  Verdict verdict_ = Verdict::kWelcome;
  Awaited awaited_ = Awaited::kHello;
  size_t wanted_;
  std::vector<std::byte> received_;  // Of what is awaited.
  std::vector<std::byte> active_hello_;
  std::vector<std::byte> passive_hello_;
  std::vector<std::byte> output_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_HANDSHAKE_H_
