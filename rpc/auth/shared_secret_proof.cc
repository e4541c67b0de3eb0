#include "rpc/auth/shared_secret_proof.h"

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "base/little_endian.h"

namespace verbena::rpc {
namespace {

// No other use of a secret begins like this.
constexpr absl::string_view kDomain = "verbena shared-secret proof, v1: ";

void Append(absl::Span<const std::byte> bytes, std::vector<std::byte>* to) {
  to->insert(to->end(), bytes.begin(), bytes.end());
}

void Append(absl::string_view text, std::vector<std::byte>* to) {
  Append(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()), to);
}

}  // namespace

Proof MakeSharedSecretProof(ProofRole role, absl::string_view secret, const SharedSecretTranscript& transcript) {
  std::array<std::byte, sizeof(uint64_t)> epoch;
  StoreLittleEndian<uint64_t>(transcript.epoch, epoch.data());
  std::vector<std::byte> statement;
  Append(kDomain, &statement);
  Append(role == ProofRole::kClient ? "client" : "server", &statement);
  statement.push_back(std::byte{0});
  Append(epoch, &statement);
  Append(transcript.client_nonce, &statement);
  Append(transcript.server_nonce, &statement);
  Append(transcript.key_id, &statement);  // The only part of any length: the last.
  return MakeProof(secret, statement);
}

}  // namespace verbena::rpc
