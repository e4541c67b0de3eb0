#include "rpc/core/call_header.h"

#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "rpc/core/printable.h"

namespace verbena::rpc {
namespace {

constexpr int kStatusCodeMax = static_cast<int>(absl::StatusCode::kUnauthenticated);

// Cold: what it needs of stack and registers is not taken for a header that is well.
template <typename... Pieces>
[[gnu::cold, gnu::noinline]] absl::Status Malformed(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

[[gnu::cold, gnu::noinline]] absl::Status NoRoom(size_t needed, size_t room) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the call header takes ", needed, " bytes; the connection has room for ", room));
}

absl::Status CheckMethod(absl::string_view method) {
  if (method.empty()) return Malformed("a request names no method");
  if (method.size() > kMethodBytesMax) {
    return Malformed("a request's method name is ", method.size(), " bytes long; the limit is ", kMethodBytesMax);
  }
  if (!IsPrintable<'!'>(method)) {
    return Malformed("a request's method name has characters that are not printable ASCII");
  }
  return absl::OkStatus();
}

absl::Status CheckResponse(const ResponseHeader& header) {
  const int code = static_cast<int>(header.code);
  if (code < 0 || code > kStatusCodeMax) return Malformed("a response has the unknown status code ", code);
  if (header.certainty > Certainty::kExecuted) {
    return Malformed("a response has the unknown certainty ", static_cast<int>(header.certainty));
  }
  if (header.code == absl::StatusCode::kOk && header.certainty != Certainty::kExecuted) {
    return Malformed("an OK response says that the call was not executed");
  }
  if (header.code == absl::StatusCode::kOk && !header.message.empty()) {
    return Malformed("an OK response has an error message");
  }
  if (header.message.size() > kStatusMessageBytesMax) {
    return Malformed("a response's error message is ", header.message.size(), " bytes long; the limit is ",
                     kStatusMessageBytesMax);
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(size_t needed, size_t room) { return needed <= room ? absl::OkStatus() : NoRoom(needed, room); }

absl::Status CheckStart(absl::string_view what, absl::Span<const std::byte> bytes, size_t fixed_bytes) {
  if (bytes.size() < fixed_bytes) {
    return Malformed("a ", what, " header is ", bytes.size(), " bytes long; the least is ", fixed_bytes);
  }
  const int version = static_cast<int>(bytes[0]);
  if (version != kCallHeaderVersion) {
    return Malformed("a ", what, " header has version ", version, "; this side speaks ",
                     static_cast<int>(kCallHeaderVersion));
  }
  return absl::OkStatus();
}

absl::Status CheckBody(uint64_t body_bytes, uint64_t payload_bytes) {
  if (body_bytes <= payload_bytes) return absl::OkStatus();
  return Malformed("a call header says that ", body_bytes, " bytes of a payload of ", payload_bytes, " are the body");
}

// Splits what follows the fixed part: `text_bytes` of text, then the fields, which are checked.
absl::Status SplitRest(absl::Span<const std::byte> rest, size_t text_bytes, absl::string_view* text,
                       absl::Span<const std::byte>* fields) {
  if (text_bytes > rest.size()) {
    return Malformed("a call header's text is ", text_bytes, " bytes long where ", rest.size(), " are left");
  }
  *text = absl::string_view(reinterpret_cast<const char*>(rest.data()), text_bytes);
  *fields = rest.subspan(text_bytes);
  return CheckHeaderFields(*fields);
}

// Copies text and fields behind the fixed part. The fields may stand there already.
void AppendRest(absl::string_view text, absl::Span<const std::byte> fields, std::byte* to) {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  if (!fields.empty()) std::memmove(to + text.size(), fields.data(), fields.size());
}

}  // namespace

absl::StatusOr<size_t> EncodeAnyRequestHeader(const RequestHeader& header, absl::Span<std::byte> to) {
  if (absl::Status status = CheckMethod(header.method); !status.ok()) return status;
  if (absl::Status status = CheckHeaderFields(header.fields); !status.ok()) return status;
  if (absl::Status status = CheckRoom(EncodedBytes(header), to.size()); !status.ok()) return status;
  WriteFixedPart(header, to.data());
  AppendRest(header.method, header.fields, to.data() + kRequestHeaderFixedBytes);
  return EncodedBytes(header);
}

absl::StatusOr<RequestHeader> DecodeAnyRequestHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes,
                                                     absl::string_view known_method) {
  if (absl::Status status = CheckStart("request", bytes, kRequestHeaderFixedBytes); !status.ok()) return status;
  if (LoadLittleEndian<uint32_t>(&bytes[4]) != 0) return Malformed("a request header has reserved bits set");
  const int kind = static_cast<int>(bytes[1]);
  if (kind > kMethodKindMax) return Malformed("a request is of the unknown kind ", kind);
  RequestHeader header;
  header.kind = static_cast<MethodKind>(kind);
  header.timeout_ns = LoadLittleEndian<uint64_t>(&bytes[8]);
  header.body_bytes = LoadLittleEndian<uint64_t>(&bytes[16]);
  const uint16_t method_bytes = LoadLittleEndian<uint16_t>(&bytes[2]);
  absl::Status status =
      SplitRest(bytes.subspan(kRequestHeaderFixedBytes), method_bytes, &header.method, &header.fields);
  if (!known_method.empty() && SameMethod(header.method, known_method)) {  // With fields.
    header.method = known_method;
  } else if (status.ok()) {
    status = CheckMethod(header.method);
  }
  if (status.ok()) status = CheckBody(header.body_bytes, payload_bytes);
  if (!status.ok()) return status;
  return header;
}

absl::StatusOr<size_t> EncodeResponseHeader(const ResponseHeader& header, absl::Span<std::byte> to) {
  if (absl::Status status = CheckResponse(header); !status.ok()) return status;
  if (absl::Status status = CheckHeaderFields(header.fields); !status.ok()) return status;
  if (absl::Status status = CheckRoom(EncodedBytes(header), to.size()); !status.ok()) return status;
  WriteFixedPart(header, to.data());
  AppendRest(header.message, header.fields, to.data() + kResponseHeaderFixedBytes);
  return EncodedBytes(header);
}

absl::StatusOr<ResponseHeader> DecodeAnyResponseHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes) {
  if (absl::Status status = CheckStart("response", bytes, kResponseHeaderFixedBytes); !status.ok()) return status;
  if (bytes[3] != std::byte{0} || LoadLittleEndian<uint16_t>(&bytes[6]) != 0) {
    return Malformed("a response header has reserved bits set");
  }
  ResponseHeader header;
  header.code = static_cast<absl::StatusCode>(bytes[1]);
  header.certainty = static_cast<Certainty>(bytes[2]);
  header.body_bytes = LoadLittleEndian<uint64_t>(&bytes[8]);
  const uint16_t message_bytes = LoadLittleEndian<uint16_t>(&bytes[4]);
  absl::Status status =
      SplitRest(bytes.subspan(kResponseHeaderFixedBytes), message_bytes, &header.message, &header.fields);
  if (status.ok()) status = CheckResponse(header);
  if (status.ok()) status = CheckBody(header.body_bytes, payload_bytes);
  if (!status.ok()) return status;
  return header;
}

}  // namespace verbena::rpc
