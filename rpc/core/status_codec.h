// absl::Status to response header and back, payloads and certainty included.
//
// What a header has no room for is cut, never refused: a call always gets its status. An over-long message is cut at a
// character's boundary and marked; payloads that do not fit are left out and counted in the message. Pure; any thread.

#ifndef VERBENA_RPC_CORE_STATUS_CODEC_H_
#define VERBENA_RPC_CORE_STATUS_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rpc/core/call_header.h"

namespace verbena::rpc {

// The least room that a response header is given: the fixed part and a cut message.
inline constexpr size_t kResponseHeaderRoomMin = 128;

// Writes the response header that says `status` at the start of `to` and returns its length. `to` is what the
// connection's header limit leaves, at least kResponseHeaderRoomMin bytes. An OK status takes
// kResponseHeaderFixedBytes. Does not allocate unless the message must be cut.
size_t EncodeStatus(const absl::Status& status, uint64_t body_bytes, absl::Span<std::byte> to);

// The status that a decoded response says, with its certainty (GetCertainty) and payloads.
absl::Status DecodeStatus(const ResponseHeader& header);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_STATUS_CODEC_H_
