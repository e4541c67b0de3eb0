// Where a large message stands in its block of payload memory, at the sender and at the receiver: an identity block,
// and then the payload, which begins with a cache line. What is copied from such a place to such a place, as the
// software device copies, is copied whole lines at a time; an attachment without a message begins with one too.

#ifndef VERBENA_TRANSPORT_PAYLOAD_LAYOUT_H_
#define VERBENA_TRANSPORT_PAYLOAD_LAYOUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "transport/payload_arena.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

// Offsets in a block, in bytes.
inline constexpr size_t kPayloadBegin = 64;
static_assert(wire::kIdentityBytes <= kPayloadBegin);
inline constexpr size_t kIdentityBegin = kPayloadBegin - wire::kIdentityBytes;

// A block for a message whose identity block and payload have `bytes` together. As PayloadArena::Allocate.
inline absl::StatusOr<BlockRef> AllocateForMessage(size_t bytes) {
  return PayloadArena::Get().Allocate(bytes + std::min(kIdentityBegin, SIZE_MAX - bytes));
}

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_LAYOUT_H_
