#include "transport/soft/segments.h"

#include <algorithm>
#include <cstring>

namespace verbena::soft {
namespace {

// Calls copy(address, bytes) for the pieces of memory that hold bytes [offset, offset + length).
template <typename CopyPiece>
void ForEachPiece(Segments segments, uint64_t offset, uint64_t length, CopyPiece copy) {
  for (const ibv_sge& segment : segments) {
    if (length == 0) return;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    uint64_t bytes = std::min<uint64_t>(segment.length - offset, length);
    copy(reinterpret_cast<std::byte*>(segment.addr + offset), bytes);
    length -= bytes;
    offset = 0;
  }
}

}  // namespace

void Gather(Segments segments, uint64_t offset, uint64_t length, std::byte* to) {
  ForEachPiece(segments, offset, length, [&to](const std::byte* from, uint64_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  });
}

void Scatter(const std::byte* from, Segments segments, uint64_t offset, uint64_t length) {
  ForEachPiece(segments, offset, length, [&from](std::byte* to, uint64_t bytes) {
    std::memcpy(to, from, bytes);
    from += bytes;
  });
}

}  // namespace verbena::soft
