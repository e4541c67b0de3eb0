// Scatter / gather lists: their length, whether their keys allow what is wanted, and copying between one of them and
// contiguous bytes.
//
// Thread: any. The memory is the application's; the work request says how long it may be used.

#ifndef VERBENA_TRANSPORT_SOFT_SEGMENTS_H_
#define VERBENA_TRANSPORT_SOFT_SEGMENTS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "transport/soft/key_table.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

using Segments = absl::Span<const ibv_sge>;

inline uint64_t TotalBytes(Segments segments) {
  uint64_t total = 0;
  for (const ibv_sge& segment : segments) total += segment.length;
  return total;
}

// Whether every segment lies in a region of protection domain `domain` that allows `access`.
inline bool SegmentsAllowed(const PublishedMemory& memory, uint32_t domain, Segments segments, uint32_t access) {
  for (const ibv_sge& segment : segments) {
    const MemoryRange range = {.address = segment.addr, .length = segment.length};
    if (segment.length != 0 && !KeyAllows(memory, segment.lkey, {.domain = domain}, range, access)) return false;
  }
  return true;
}

// Bytes [offset, offset + length) of the list, which must have them.
void Gather(Segments segments, uint64_t offset, uint64_t length, std::byte* to);
void Scatter(const std::byte* from, Segments segments, uint64_t offset, uint64_t length);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SEGMENTS_H_
