// What one end of a link tells the other over a stream: how things stand with it now, and what it has added to its
// rings.
//
// An update is a header of kUpdateHeaderBytes, then `response_bytes` of the sender's response ring, then
// `request_bytes` of its request ring. Both are whole records, continue where the last update ended, and do not cross
// the end of their ring. What the header says holds when all of these bytes are there: so an acceptance never overtakes
// the answer that it counts, and `closed` is the last word.
//
// Header, little-endian:
//    0  u32  mark
//    4  u32  response_bytes
//    8  u32  request_bytes
//   12  u16  refusal
//   14  u8   closed
//   15  u8   rnr_retry
//   16  u64  requests_consumed
//   24  u64  responses_consumed
//   32  u64  accepted
//   40  u64  probe
//   48  u64  probe_answer
//
// Pure. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_UPDATE_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_UPDATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace verbena::soft {

inline constexpr size_t kUpdateHeaderBytes = 56;

// Most bytes of one ring in one update: a quarter of a ring, so that writing, carrying and reading overlap.
inline constexpr uint32_t kUpdateRingBytesMax = 32 * 1024;

// The fields of an end's lines in shared_layout.h that have the same names.
struct UpdateHeader {
  uint32_t response_bytes = 0;
  uint32_t request_bytes = 0;
  uint16_t refusal = 0;
  bool closed = false;
  uint8_t rnr_retry = 7;
  uint64_t requests_consumed = 0;   // Of the receiver's request ring: `requests_in.ring.head` of the sender.
  uint64_t responses_consumed = 0;  // Of the receiver's response ring.
  uint64_t accepted = 0;
  uint64_t probe = 0;
  uint64_t probe_answer = 0;

  friend bool operator==(const UpdateHeader&, const UpdateHeader&) = default;
};

using UpdateHeaderBytes = std::array<std::byte, kUpdateHeaderBytes>;

UpdateHeaderBytes EncodeUpdateHeader(const UpdateHeader& header);

// Nothing for bytes that EncodeUpdateHeader cannot have written for a working end, as far as they alone can tell.
std::optional<UpdateHeader> DecodeUpdateHeader(const UpdateHeaderBytes& bytes);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_UPDATE_H_
