// The secret that two hosts share, by which each proves to the other that it may connect queue pairs with it.
//
// VERBENA_SOFT_SECRET_FILE names a file with kSecretBytesMin to kSecretBytesMax bytes; one newline at its end is not
// part of it. Only its owner may have any permission on it, and the owner is this process' user or root.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/proof.h"

namespace verbena::soft {

inline constexpr size_t kSecretBytesMin = 16;
inline constexpr size_t kSecretBytesMax = 4096;

class SharedSecret {
 public:
  // `bytes` has a permitted length.
  explicit SharedSecret(std::string bytes) : bytes_(std::move(bytes)) {}

  // Says in words what is wrong with the file.
  static absl::StatusOr<SharedSecret> ReadFrom(const std::string& path);
  // What the environment names; none if it names none.
  static absl::StatusOr<std::optional<SharedSecret>> OfEnvironment();

  Proof Prove(absl::Span<const std::byte> statement) const { return MakeProof(bytes_, statement); }

 private:
  std::string bytes_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_SHARED_SECRET_H_
