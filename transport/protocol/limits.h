// Bounds that both sides of a connection rely on, named with their units. They are part of the protocol (docs/wire.md).

#ifndef VERBENA_TRANSPORT_PROTOCOL_LIMITS_H_
#define VERBENA_TRANSPORT_PROTOCOL_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "transport/wire/frame.h"

namespace verbena::protocol {

// Grants that every connection can count on: one for a message, one that keeps credits flowing back.
inline constexpr uint32_t kCreditsPerConnectionMin = 2;
// Credits that one side may hold at once; more granted is a protocol error.
inline constexpr uint32_t kCreditsHeldMax = 0xffff;

// Announcements that one side may have unfinished. Also the range of a transfer's index (see wire/frame.h, `aux`).
inline constexpr uint32_t kTransfersMax = 32;
// Of those, exports withdrawn and not yet finished by the peer. With more, the connection is forced down when the
// peer has finished none of them for ConnectionConfig::quarantine_timeout.
inline constexpr uint32_t kQuarantineExportsMax = 16;
static_assert(kQuarantineExportsMax < kTransfersMax, "a crowded quarantine leaves transfers to others");

// Segments that an announcement has room for beside the longest call header.
inline constexpr size_t kSegmentsRoomMin = 8;
static_assert(kSegmentsRoomMin <= wire::kSegmentsMax);

// The shortest receive buffer that a peer may offer, in bytes.
inline constexpr uint32_t kReceiveBufferBytesMin = 512;
static_assert(kReceiveBufferBytesMin >= wire::kFrameHeaderBytes + kSegmentsRoomMin * wire::kSegmentBytes + 128,
              "an announcement must have room for a call header");

// READ bytes in flight on one connection, in chunks: what a small fetch waits for behind a large one, and what the
// slots of SENDs posted behind these READs are not free before.
inline constexpr uint32_t kReadChunksInFlightMax = 2;

// The reason in words that a kGoodbye carries, in bytes: what is longer is cut, by either side.
inline constexpr size_t kGoodbyeWordsBytesMax = 256;
static_assert(wire::kFrameHeaderBytes + kGoodbyeWordsBytesMax <= kReceiveBufferBytesMin);

// One message of an authentication exchange, in bytes, and how many of them each side may send. A message must fit the
// peer's receive buffer, too.
inline constexpr size_t kAuthenticationBytesMax = 4096;
inline constexpr uint32_t kAuthenticationMessagesMax = 8;

// Send slots that only control frames may take.
inline constexpr uint32_t kControlSendSlots = 2;
inline constexpr uint32_t kSendSlotsMin = kControlSendSlots + 2;

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_LIMITS_H_
