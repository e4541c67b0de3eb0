#include "transport/wire/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace verbena::wire {
namespace {

// ISA-L takes its length as an int. A multiple of its own block sizes.
constexpr size_t kStepBytesMax = size_t{1} << 30;

}  // namespace

void Crc32c::Add(absl::Span<const std::byte> piece) {
  while (!piece.empty()) {
    const size_t step = std::min(piece.size(), kStepBytesMax);
    // ISA-L only reads; its interface lacks the const.
    auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    state_ = crc32_iscsi(bytes, static_cast<int>(step), state_);
    piece.remove_prefix(step);
  }
}

}  // namespace verbena::wire
