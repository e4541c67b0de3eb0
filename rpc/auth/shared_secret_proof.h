// What a proof of the shared-secret exchange covers. docs/wire.md is the specification.
//
// Pure. Thread: any.

#ifndef VERBENA_RPC_AUTH_SHARED_SECRET_PROOF_H_
#define VERBENA_RPC_AUTH_SHARED_SECRET_PROOF_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/proof.h"

namespace verbena::rpc {

// Whose proof: one side's is none of the other's.
enum class ProofRole { kClient, kServer };

// What both ends know of one exchange.
struct SharedSecretTranscript {
  uint64_t epoch = 0;
  Nonce client_nonce = {};
  Nonce server_nonce = {};
  std::string key_id;
};

Proof MakeSharedSecretProof(ProofRole role, absl::string_view secret, const SharedSecretTranscript& transcript);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_AUTH_SHARED_SECRET_PROOF_H_
