// absl::Status to response header and back, payloads, certainty and the response's metadata included.
//
// What a header has no room for of a status is cut, never refused: a call always gets its status. An over-long message
// is cut at a character's boundary and marked; payloads that do not fit are left out and counted in the message.
//
// Metadata is never cut, so it comes first: it may take all of the room but kResponseHeaderRoomMin, the message has
// what it leaves, and the payloads what the message leaves. Metadata that does not fit is refused (CheckMetadataRoom).
// Pure; any thread.

#ifndef VERBENA_RPC_CORE_STATUS_CODEC_H_
#define VERBENA_RPC_CORE_STATUS_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rpc/core/call_header.h"
#include "rpc/core/metadata.h"
#include "rpc/core/metadata_codec.h"

namespace verbena::rpc {

// The least room that a response header is given: the fixed part and a cut message.
inline constexpr size_t kResponseHeaderRoomMin = 128;

// More room than this is of no use to a response: both lists of metadata, and a status as long as its message may be.
inline constexpr size_t kResponseHeaderRoomMax = 2 * kMetadataBytesMax + kStatusMessageBytesMax;

// Whether a response header in `room` bytes can carry `metadata`. ResourceExhausted says how long it is and what the
// limit is: kMetadataBytesMax for each list, for both together what the room leaves beyond kResponseHeaderRoomMin.
absl::Status CheckMetadataRoom(const ResponseMetadata& metadata, size_t room);

// EncodeStatus of an error, or with metadata.
size_t EncodeAnyStatus(const absl::Status& status, uint64_t body_bytes, absl::Span<std::byte> to,
                       const ResponseMetadata& metadata);
// Writes the response header that says `status` at the start of `to` and returns its length. `to` is what the
// connection's header limit leaves, at least kResponseHeaderRoomMin bytes, and `metadata` has room in it. An OK status
// takes kResponseHeaderFixedBytes. Does not allocate unless the message must be cut.
inline size_t EncodeStatus(const absl::Status& status, uint64_t body_bytes, absl::Span<std::byte> to,
                           const ResponseMetadata& metadata = {}) {
  return status.ok() && metadata.empty() ? EncodeOkResponseHeader(body_bytes, to)
                                         : EncodeAnyStatus(status, body_bytes, to, metadata);
}

// DecodeStatus of an error.
absl::Status DecodeError(const ResponseHeader& header);
// The status that a decoded response says, with its certainty (GetCertainty) and payloads.
inline absl::Status DecodeStatus(const ResponseHeader& header) {
  return header.code == absl::StatusCode::kOk ? absl::OkStatus() : DecodeError(header);
}

// The metadata that came with it.
inline void DecodeMetadata(const ResponseHeader& header, ResponseMetadata* metadata) {
  ReadMetadata(header.fields, HeaderFieldType::kInitialMetadata, &metadata->initial);
  ReadMetadata(header.fields, HeaderFieldType::kMetadata, &metadata->trailing);
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_STATUS_CODEC_H_
