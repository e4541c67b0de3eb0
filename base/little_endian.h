// Integers of everything that crosses the wire, frames and call headers alike: little-endian at any address, whatever
// this machine's own order. Compiles to one load or store.

#ifndef VERBENA_BASE_LITTLE_ENDIAN_H_
#define VERBENA_BASE_LITTLE_ENDIAN_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace verbena {

// Its own inverse. Not byte by byte: gcc 12 makes eight loads and seven shifts of that where one load would do.
template <typename Integer>
constexpr Integer SwapUnlessLittleEndian(Integer value) {
  static_assert(std::is_unsigned_v<Integer>);
  if constexpr (std::endian::native == std::endian::little) return value;
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Integer)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Integer>(bytes);
}

// Writes sizeof(Integer) bytes at `to`.
template <typename Integer>
void StoreLittleEndian(Integer value, std::byte* to) {
  const Integer bytes = SwapUnlessLittleEndian(value);
  std::memcpy(to, &bytes, sizeof(bytes));
}

// Reads sizeof(Integer) bytes at `from`.
template <typename Integer>
Integer LoadLittleEndian(const std::byte* from) {
  Integer bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return SwapUnlessLittleEndian(bytes);
}

}  // namespace verbena

#endif  // VERBENA_BASE_LITTLE_ENDIAN_H_
