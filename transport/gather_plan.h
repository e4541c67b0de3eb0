// Which pieces of an attachment are sent from where they stand, and which are copied. Pure.
//
// A piece of at least kInPlaceBytesMin bytes that stands in registered memory stays there. All others are copied, in
// order, into one block; neighbours become one segment. Where more would stay than the limits allow, the smallest are
// copied, so that the fewest bytes are.

#ifndef VERBENA_TRANSPORT_GATHER_PLAN_H_
#define VERBENA_TRANSPORT_GATHER_PLAN_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace verbena::transport {

class DeviceRegions;

// Smaller pieces are copied: a key and a READ of their own would cost more.
inline constexpr size_t kInPlaceBytesMin = 16 << 10;

struct GatherPiece {
  absl::Span<const std::byte> bytes;
  DeviceRegions* regions;  // Of the memory that it stands in and is sent from; null: it is copied.
};

struct GatherLimits {
  size_t in_place_max;  // Pieces, each of which needs a key.
  size_t segments_max;  // At least 1.
};

// The segments that these pieces make behind the identity block and the message's first part, those included.
size_t SegmentsOf(absl::Span<const GatherPiece> pieces);

// Has as many pieces copied as it takes to keep the limits.
void FitToLimits(const GatherLimits& limits, std::vector<GatherPiece>* pieces);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_GATHER_PLAN_H_
