// Integers of everything that crosses the wire, frames and call headers alike: little-endian at any address, whatever
// this machine's own order. Compiles to one load or store.

#ifndef VERBENA_BASE_LITTLE_ENDIAN_H_
#define VERBENA_BASE_LITTLE_ENDIAN_H_

#include <cstddef>
#include <type_traits>

namespace verbena {

// Writes sizeof(Integer) bytes at `to`.
template <typename Integer>
void StoreLittleEndian(Integer value, std::byte* to) {
  static_assert(std::is_unsigned_v<Integer>);
  for (size_t i = 0; i < sizeof(Integer); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

// Reads sizeof(Integer) bytes at `from`.
template <typename Integer>
Integer LoadLittleEndian(const std::byte* from) {
  static_assert(std::is_unsigned_v<Integer>);
  Integer value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    value = static_cast<Integer>(value | static_cast<Integer>(static_cast<Integer>(from[i]) << (8 * i)));
  }
  return value;
}

}  // namespace verbena

#endif  // VERBENA_BASE_LITTLE_ENDIAN_H_
