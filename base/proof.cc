#include "base/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

namespace verbena {

Proof MakeProof(absl::string_view secret, absl::Span<const std::byte> statement) {
  Proof proof;
  unsigned int length = 0;
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                          reinterpret_cast<const unsigned char*>(statement.data()), statement.size(),
                          reinterpret_cast<unsigned char*>(proof.data()), &length);
  // Fails only where the library has no SHA-256, or no memory. What nobody can guess proves nothing to anybody.
  if (made == nullptr || length != kProofBytes) return RandomNonce();
  return proof;
}

bool SameProof(absl::Span<const std::byte> one, absl::Span<const std::byte> other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

Nonce RandomNonce() {
  Nonce nonce;
  size_t filled = 0;
  while (filled < nonce.size()) {
    const ssize_t count = getrandom(nonce.data() + filled, nonce.size() - filled, 0);
    if (count > 0) filled += static_cast<size_t>(count);
  }
  return nonce;
}

}  // namespace verbena
