// Whether a text is printable ASCII, eight characters at a time: what callers name travels with each call.

#ifndef VERBENA_RPC_CORE_PRINTABLE_H_
#define VERBENA_RPC_CORE_PRINTABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace verbena::rpc {

// The high bit of some byte is set if one of the eight at `text` is below `kLeast` or above '~'.
template <char kLeast>
uint64_t UnprintableAmongEight(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t bytes;
  std::memcpy(&bytes, text, sizeof(bytes));
  const uint64_t below = (bytes - kLeast * kOnes) & ~bytes;  // Of the lowest byte below kLeast.
  const uint64_t above = (bytes + kOnes) | bytes;            // Of each byte above '~'.
  return (below | above) & (0x80 * kOnes);
}

// Every character is one of kLeast to '~': ' ' with spaces, '!' without.
template <char kLeast>
bool IsPrintable(absl::string_view text) {
  static_assert(kLeast == ' ' || kLeast == '!');
  if (text.size() < sizeof(uint64_t)) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= kLeast && c <= '~'; });
  }
  const size_t last = text.size() - sizeof(uint64_t);
  for (size_t at = 0; at < last; at += sizeof(uint64_t)) {
    if (UnprintableAmongEight<kLeast>(text.data() + at) != 0) return false;
  }
  return UnprintableAmongEight<kLeast>(text.data() + last) == 0;  // May overlap the one before.
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_PRINTABLE_H_
