// For tests: bytes and text.

#ifndef VERBENA_RPC_CORE_TEST_BYTES_H_
#define VERBENA_RPC_CORE_TEST_BYTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena::rpc {

using Bytes = std::vector<std::byte>;

inline Bytes BytesOf(absl::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(bytes, bytes + text.size());
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_TEST_BYTES_H_
