// Proofs that somebody knows a secret, without saying it: HMAC-SHA-256 over a statement that both ends know, with a
// nonce of each in it. By OpenSSL's libcrypto.
//
// Pure but for RandomNonce. Thread: any.

#ifndef VERBENA_BASE_PROOF_H_
#define VERBENA_BASE_PROOF_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena {

inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kNonceBytes = 32;

using Proof = std::array<std::byte, kProofBytes>;
using Nonce = std::array<std::byte, kNonceBytes>;

// HMAC-SHA-256 of the statement under the secret. Where that cannot be had, bytes that are equal to no proof.
Proof MakeProof(absl::string_view secret, absl::Span<const std::byte> statement);

// In a time that does not depend on where they differ.
bool SameProof(absl::Span<const std::byte> one, absl::Span<const std::byte> other);

// From the kernel's generator for cryptography, which does not fail.
Nonce RandomNonce();

}  // namespace verbena

#endif  // VERBENA_BASE_PROOF_H_
