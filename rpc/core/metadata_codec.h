// Metadata to the fields of a call header and back. A response's goes through status_codec.h, where it meets the
// status.
//
// Metadata is sent whole or not at all. Pure; any thread.

#ifndef VERBENA_RPC_CORE_METADATA_CODEC_H_
#define VERBENA_RPC_CORE_METADATA_CODEC_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rpc/core/call_header.h"
#include "rpc/core/header_field.h"
#include "rpc/core/metadata.h"

namespace verbena::rpc {

// The longest request header that anything can fill.
inline constexpr size_t kRequestHeaderRoomMax = kRequestHeaderFixedBytes + kMethodBytesMax + kMetadataBytesMax;

// EncodeRequest of a list that is not empty.
absl::StatusOr<size_t> EncodeRequestWithMetadata(RequestHeader header, const Metadata& metadata,
                                                 absl::Span<std::byte> to, absl::string_view known_method);
// Writes the header of a request that carries `metadata` at the start of `to` and returns its length. `header` has no
// fields yet. ResourceExhausted: the metadata is longer than kMetadataBytesMax or than what `to` leaves beside the
// method; says both numbers. Other errors as EncodeRequestHeader's, and `known_method`.
inline absl::StatusOr<size_t> EncodeRequest(const RequestHeader& header, const Metadata& metadata,
                                            absl::Span<std::byte> to, absl::string_view known_method = {}) {
  return metadata.empty() ? EncodeRequestHeader(header, to, known_method)
                          : EncodeRequestWithMetadata(header, metadata, to, known_method);
}

// Appends the entries as fields of `type`. There is room for metadata.bytes().
void AppendMetadata(HeaderFieldType type, const Metadata& metadata, HeaderFieldWriter& to);

// ReadMetadata of a list that is not empty.
void ReadSomeMetadata(absl::Span<const std::byte> fields, HeaderFieldType type, Metadata* metadata);
// Adds what the fields of `type` say, in a list that CheckHeaderFields found whole, to `metadata`.
inline void ReadMetadata(absl::Span<const std::byte> fields, HeaderFieldType type, Metadata* metadata) {
  if (!fields.empty()) ReadSomeMetadata(fields, type, metadata);
}

// Whether `bytes` of `what` may be sent where a header leaves room for `room`. ResourceExhausted says both numbers.
absl::Status CheckMetadataBytes(absl::string_view what, size_t bytes, size_t room);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_METADATA_CODEC_H_
