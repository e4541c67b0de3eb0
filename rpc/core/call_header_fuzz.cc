// Fuzz target: the decoders of call headers. None may crash, read outside its bytes or contradict its contract: what
// decodes, encodes to the same bytes, a status always comes out of a response, and metadata goes on as it came.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "rpc/core/call_header.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/core/status_codec.h"
#include "rpc/core/stream_header.h"
#include "rpc/core/test_bytes.h"

namespace verbena::rpc {
namespace {

constexpr uint64_t kPayloadBytes = 1000;

// A fuzzer knows a failure by its abort; and an assertion may be off.
void Require(bool held) {
  if (!held) std::abort();
}

void RequireSame(const absl::StatusOr<size_t>& size, const Bytes& again, absl::Span<const std::byte> bytes) {
  Require(size.ok() && *size == bytes.size());
  Require(std::equal(bytes.begin(), bytes.end(), again.begin()));
}

// A name that is known is looked at less, and changes nothing else.
void FuzzKnownMethod(absl::Span<const std::byte> bytes, const absl::StatusOr<RequestHeader>& header,
                     absl::string_view known) {
  const absl::StatusOr<RequestHeader> again = DecodeRequestHeader(bytes, kPayloadBytes, known);
  Require(again.ok() == header.ok());
  if (!header.ok()) return;
  Require(again->method == header->method && again->kind == header->kind && again->timeout_ns == header->timeout_ns);
  Require(again->body_bytes == header->body_bytes && again->fields == header->fields);
}

void FuzzRequest(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(bytes, kPayloadBytes);
  FuzzKnownMethod(bytes, header, "a.B/C");
  if (!header.ok()) return Require(!header.status().message().empty());
  FuzzKnownMethod(bytes, header, header->method);
  Require(!header->method.empty() && header->method.size() <= kMethodBytesMax);
  Require(header->body_bytes <= kPayloadBytes);
  Bytes again(bytes.size());
  RequireSame(EncodeRequestHeader(*header, absl::MakeSpan(again)), again, bytes);

  Metadata metadata;
  ReadMetadata(header->fields, HeaderFieldType::kMetadata, &metadata);
  Require(metadata.bytes() <= kMetadataBytesMax);
  Bytes room(kRequestHeaderRoomMax);
  const RequestHeader bare{header->method, header->timeout_ns, header->body_bytes, {}};
  const absl::StatusOr<size_t> size = EncodeRequest(bare, metadata, absl::MakeSpan(room));
  Require(size.ok() && *size <= bytes.size());
}

void FuzzResponse(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(bytes, kPayloadBytes);
  if (!header.ok()) return Require(!header.status().message().empty());
  Bytes again(bytes.size());
  RequireSame(EncodeResponseHeader(*header, absl::MakeSpan(again)), again, bytes);

  const absl::Status status = DecodeStatus(*header);
  Require(status.code() == header->code && GetCertainty(status) == header->certainty);
  ResponseMetadata metadata;
  DecodeMetadata(*header, &metadata);
  // And on it goes, through a header with less room for the status.
  Bytes room(kResponseHeaderRoomMin + metadata.bytes());
  Require(CheckMetadataRoom(metadata, room.size()).ok());
  room.resize(EncodeStatus(status, header->body_bytes, absl::MakeSpan(room), metadata));
  const absl::StatusOr<ResponseHeader> forwarded = DecodeResponseHeader(room, kPayloadBytes);
  Require(forwarded.ok() && DecodeStatus(*forwarded).code() == status.code());
  ResponseMetadata forwarded_metadata;
  DecodeMetadata(*forwarded, &forwarded_metadata);
  Require(forwarded_metadata.initial == metadata.initial && forwarded_metadata.trailing == metadata.trailing);
}

void FuzzStream(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<StreamHeader> header = DecodeStreamHeader(bytes);
  if (!header.ok()) return Require(!header.status().message().empty());
  Bytes again(bytes.begin(), bytes.end());
  EncodeStreamHeader(*header, again.data());
  Require(header->fields.size() + kStreamHeaderBytes == bytes.size());
  RequireSame(again.size(), again, bytes);
}

}  // namespace
}  // namespace verbena::rpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data), size);
  verbena::rpc::FuzzRequest(bytes);
  verbena::rpc::FuzzResponse(bytes);
  verbena::rpc::FuzzStream(bytes);
  return 0;
}
