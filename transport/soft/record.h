// What stands in a ring: a header, and at most kFragmentBytesMax bytes of a message.
//
// A message is one or more records in a row; a READ and a plain WRITE have none, they are copied directly. Headers are
// copied out of shared memory before they are looked at.

#ifndef VERBENA_TRANSPORT_SOFT_RECORD_H_
#define VERBENA_TRANSPORT_SOFT_RECORD_H_

#include "transport/soft/byte_ring.h"

namespace verbena::soft {

enum class RecordKind : uint8_t {
  kSend = 1,
  kSendWithImmediate = 2,
  kSendWithInvalidate = 3,
  kWriteWithImmediate = 4,  // The bytes were written already: no payload.
};

// Bits of RecordHeader::flags.
inline constexpr uint8_t kRecordFirst = 1;
inline constexpr uint8_t kRecordLast = 2;
inline constexpr uint8_t kRecordSolicited = 4;
inline constexpr uint8_t kRecordFlags = kRecordFirst | kRecordLast | kRecordSolicited;

struct RecordHeader {
  RecordKind kind;
  uint8_t flags;
  uint16_t reserved;
  uint32_t payload_bytes;  // In this record.
  uint64_t message_bytes;  // In all records of the message; for a write with immediate, the bytes written.
  uint64_t number;         // Of the message; the first one of a link is 1.
  uint32_t immediate;      // As in the work request: immediate in network order, or the key to invalidate.
  uint32_t reserved_too;
};
static_assert(sizeof(RecordHeader) == 32);

// Four records of this size fill a ring, so that writer and reader of a long message overlap.
inline constexpr uint32_t kFragmentBytesMax = kRingBytes / 4 - sizeof(RecordHeader);

inline constexpr uint64_t kMessageBytesMax = 1u << 30;

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RECORD_H_
