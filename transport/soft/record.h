// What stands in a ring: a header, for some kinds a target, and at most kFragmentBytesMax bytes of payload. A record
// does not cross the end of its ring: it gets as much payload as fits before that, and the next one goes on.
//
// Request ring. A request is one or more records in a row, all of the same kind, number, length and target; its number
// is one more than the last one's. The responder takes requests strictly in this order.
//   kSend...               a message, into a posted receive.
//   kWrite...              bytes into the responder's memory at the target; with immediate, a receive is used up too.
//   kImmediateOfWrite      as kWriteWithImmediate, of bytes that the sender wrote by itself, which it must be allowed
//                          to: no payload, no target.
//   kRead                  one record without payload: `message_bytes` are wanted from the target.
//   kCompareAndSwap, kFetchAndAdd   one record without payload: `message_bytes` is 8.
//
// Response ring. The answers to READs and atomics, in the order of their requests; `number` is the request's.
//   kReadResponse          records as for a message; one without payload if nothing was wanted.
//   kAtomicResponse        one record with the eight bytes that were there before.
// An answer is published before RequestReceiverLine::accepted counts its request. A request that is refused has no
// answer, and no answer follows: StateLine::refusal speaks of it.
//
// Integers are in the byte order of the host that both ends share; whoever carries records to another host checks that
// it is the same there. Headers and targets are copied out of shared memory before they are looked at.

#ifndef VERBENA_TRANSPORT_SOFT_RECORD_H_
#define VERBENA_TRANSPORT_SOFT_RECORD_H_

#include <algorithm>
#include <cstddef>

#include "transport/soft/byte_ring.h"

namespace verbena::soft {

enum class RecordKind : uint8_t {
  kSend = 1,
  kSendWithImmediate = 2,
  kSendWithInvalidate = 3,
  kImmediateOfWrite = 4,
  kWrite = 5,
  kWriteWithImmediate = 6,
  kRead = 7,
  kCompareAndSwap = 8,
  kFetchAndAdd = 9,
  kReadResponse = 10,
  kAtomicResponse = 11,
};

// Bits of RecordHeader::flags.
inline constexpr uint8_t kRecordFirst = 1;
inline constexpr uint8_t kRecordLast = 2;
inline constexpr uint8_t kRecordSolicited = 4;
inline constexpr uint8_t kRecordFlags = kRecordFirst | kRecordLast | kRecordSolicited;

struct RecordHeader {
  RecordKind kind;
  uint8_t flags;
  uint16_t reads_in_flight;  // READs and atomics of this sender without an answer, this one included; else 0.
  uint32_t payload_bytes;    // In this record.
  uint64_t message_bytes;    // In all records of the request; for kImmediateOfWrite, the bytes written.
  uint64_t number;           // Of the request; the first one of a link is 1.
  uint32_t immediate;        // As in the work request: immediate in network order, or the key to invalidate.
  uint32_t reserved;
};
static_assert(sizeof(RecordHeader) == 32);

// Follows the header of one-sided requests.
struct RecordTarget {
  uint64_t address;
  uint32_t key;
  uint32_t reserved;
  uint64_t operand;  // To add, or to compare with.
  uint64_t swap;     // kCompareAndSwap only.
};
static_assert(sizeof(RecordTarget) == 32);

constexpr bool HasTarget(RecordKind kind) { return kind >= RecordKind::kWrite && kind <= RecordKind::kFetchAndAdd; }
constexpr bool IsAtomic(RecordKind kind) {
  return kind == RecordKind::kCompareAndSwap || kind == RecordKind::kFetchAndAdd;
}
// Whether it is answered in the response ring.
constexpr bool WantsAnswer(RecordKind kind) { return kind == RecordKind::kRead || IsAtomic(kind); }

// What stands before the payload. The operands of a target are an atomic's, which has no payload; where others have
// theirs, it begins instead. So the last cache line of a ring has room for some payload, whatever the kind.
constexpr size_t RecordPrefixBytes(RecordKind kind) {
  if (!HasTarget(kind)) return sizeof(RecordHeader);
  return sizeof(RecordHeader) + (IsAtomic(kind) ? sizeof(RecordTarget) : offsetof(RecordTarget, operand));
}

// Four records of this size fill a ring, so that writer and reader of a long message overlap.
inline constexpr size_t kRecordPrefixBytesMax = sizeof(RecordHeader) + sizeof(RecordTarget);
inline constexpr uint32_t kFragmentBytesMax = kRingBytes / 4 - kRecordPrefixBytesMax;
static_assert(kRecordPrefixBytesMax < kRingBytesMin && kRecordPrefixBytesMax <= kCacheLineBytes);
static_assert(RecordPrefixBytes(RecordKind::kWrite) < kCacheLineBytes);

// How much payload a record of this ring can have, wherever it begins.
inline uint64_t FragmentBytesMax(const RingWriter& ring) {
  return std::min<uint64_t>(kFragmentBytesMax, ring.capacity() - kRecordPrefixBytesMax);
}

// The same where the next one begins, if so much stands before the payload.
inline uint64_t NextFragmentBytesMax(const RingWriter& ring, size_t prefix_bytes) {
  return std::min<uint64_t>(FragmentBytesMax(ring), ring.bytes_to_end() - prefix_bytes);
}

// A writer hears of free space this often at least, so that it refills the ring while its reader empties it.
inline constexpr uint64_t kRingPublishBytes = kRingBytes / 8;

inline constexpr uint64_t kMessageBytesMax = 1u << 30;
inline constexpr uint32_t kAtomicBytes = 8;

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RECORD_H_
