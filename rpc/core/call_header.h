// What rpc says about a request and a response in the call header of its message, which the transport carries unread.
// Specification: docs/wire.md, "Call headers".
//
//   request:  | version, kind, method length, timeout, body length: 24 bytes | method | fields |
//   response: | version, status code, certainty, message length, body length: 16 bytes | message | fields |
//
// A message's payload is the protobuf body followed by the attachment; `body_bytes` says where one ends and the other
// begins. The fields (header_field.h) are how the format grows: unknown ones are skipped. All integers little-endian.
//
// Pure. Encoding writes into the caller's memory and allocates nothing; decoding returns views into the bytes it read,
// and into a known method's name.
// What decodes, encodes to the same bytes.

#ifndef VERBENA_RPC_CORE_CALL_HEADER_H_
#define VERBENA_RPC_CORE_CALL_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rpc/core/certainty.h"
#include "rpc/core/header_field.h"
#include "rpc/core/method_kind.h"

namespace verbena::rpc {

inline constexpr uint8_t kCallHeaderVersion = 1;
inline constexpr size_t kRequestHeaderFixedBytes = 24;
inline constexpr size_t kResponseHeaderFixedBytes = 16;
inline constexpr size_t kMethodBytesMax = 512;
inline constexpr size_t kStatusMessageBytesMax = 4096;

struct RequestHeader {
  absl::string_view method;              // "package.Service/Method": printable ASCII, 1 to kMethodBytesMax bytes.
  uint64_t timeout_ns = 0;               // What is left of the call's time when the request is sent; 0 = no limit.
  uint64_t body_bytes = 0;               // Of the payload; the rest is the attachment.
  absl::Span<const std::byte> fields;    // Whole list; see header_field.h.
  MethodKind kind = MethodKind::kUnary;  // What the client takes the method for.
};

struct ResponseHeader {
  absl::StatusCode code = absl::StatusCode::kOk;
  Certainty certainty = Certainty::kExecuted;  // OK is always kExecuted.
  absl::string_view message;                   // The status's; at most kStatusMessageBytesMax bytes; empty if OK.
  uint64_t body_bytes = 0;                     // Of the payload; the rest is the attachment.
  absl::Span<const std::byte> fields;          // Whole list; see header_field.h.
};

// Whether two names are the same; at once, if they are the same memory.
inline bool SameMethod(absl::string_view one, absl::string_view other) {
  return one.size() == other.size() && (one.data() == other.data() || one == other);
}

// Bytes that the encoded header takes.
inline size_t EncodedBytes(const RequestHeader& header) {
  return kRequestHeaderFixedBytes + header.method.size() + header.fields.size();
}
inline size_t EncodedBytes(const ResponseHeader& header) {
  return kResponseHeaderFixedBytes + header.message.size() + header.fields.size();
}

// Write the header at the start of `to` and return its length. Errors: `to` is too short for it (ResourceExhausted; it
// says how many bytes are needed), the header breaks the rules above (InvalidArgument). Then `to` is unchanged.
// The header's fields may stand in `to` already, where they belong. `known_method`: a name that kept the rules before
// and is not looked at once more, if it is this one.
absl::StatusOr<size_t> EncodeRequestHeader(const RequestHeader& header, absl::Span<std::byte> to,
                                           absl::string_view known_method = {});
absl::StatusOr<size_t> EncodeResponseHeader(const ResponseHeader& header, absl::Span<std::byte> to);
// Writes that of an OK without fields, and returns its length. `to` has kResponseHeaderFixedBytes at least.
size_t EncodeOkResponseHeader(uint64_t body_bytes, absl::Span<std::byte> to);

// Decode a whole call header that came with a payload of `payload_bytes`. Everything is checked: version, lengths,
// ranges, reserved bits, the fields' form. InvalidArgument says in words what is wrong; the peer does not speak the
// protocol. `known_method`: the same; if it is this one, the decoded name is in its memory, not in that of `bytes`.
absl::StatusOr<RequestHeader> DecodeRequestHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes,
                                                  absl::string_view known_method = {});
absl::StatusOr<ResponseHeader> DecodeResponseHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes);

}  // namespace verbena::rpc

#include "rpc/core/call_header_inline.h"  // IWYU pragma: export

#endif  // VERBENA_RPC_CORE_CALL_HEADER_H_
