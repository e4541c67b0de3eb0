// The call header of everything that belongs to a stream: its messages, their end, the receiver's window, and the
// initial metadata ahead of it. Specification: docs/wire.md, "Streams".
//
//   | version, reserved: 8 bytes | number: 8 | value: 8 | fields |
//
// Pure. What decodes, encodes to the same bytes.

#ifndef VERBENA_RPC_CORE_STREAM_HEADER_H_
#define VERBENA_RPC_CORE_STREAM_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace verbena::rpc {

inline constexpr size_t kStreamHeaderBytes = 24;

struct StreamHeader {
  uint64_t number = 0;  // A message's place in its stream, from 0; of an end: how many messages there were.
  uint64_t value = 0;   // Of a message: bytes of its body within the payload; of a window: the limit.
  absl::Span<const std::byte> fields = {};  // Whole list; see header_field.h. Initial metadata, if any.
};

// The kStreamHeaderBytes before the fields, which are the caller's to append.
void EncodeStreamHeader(const StreamHeader& header, std::byte* to);

// InvalidArgument says in words what is wrong; the peer does not speak the protocol.
absl::StatusOr<StreamHeader> DecodeStreamHeader(absl::Span<const std::byte> bytes);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_STREAM_HEADER_H_
