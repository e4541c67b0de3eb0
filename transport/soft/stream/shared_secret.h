// The secret that two hosts share, by which each proves to the other that it may connect queue pairs with it.
//
// VERBENA_SOFT_SECRET_FILE names a file with kSecretBytesMin to kSecretBytesMax bytes; one newline at its end is not
// part of it. Only its owner may have any permission on it, and the owner is this process' user or root.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace verbena::soft {

inline constexpr size_t kSecretBytesMin = 16;
inline constexpr size_t kSecretBytesMax = 4096;
inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kNonceBytes = 32;

using Proof = std::array<std::byte, kProofBytes>;
using Nonce = std::array<std::byte, kNonceBytes>;

class SharedSecret {
 public:
  // `bytes` has a permitted length.
  explicit SharedSecret(std::string bytes) : bytes_(std::move(bytes)) {}

  // Says in words what is wrong with the file.
  static absl::StatusOr<SharedSecret> ReadFrom(const std::string& path);
  // What the environment names; none if it names none.
  static absl::StatusOr<std::optional<SharedSecret>> OfEnvironment();

  // HMAC-SHA-256 under this secret. Where that cannot be had, bytes that are equal to no proof: the handshake fails.
  Proof Prove(absl::Span<const std::byte> statement) const;

 private:
  std::string bytes_;
};

// In a time that does not depend on where they differ.
bool SameProof(absl::Span<const std::byte> one, absl::Span<const std::byte> other);

// From the kernel's generator for cryptography.
Nonce RandomNonce();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_
