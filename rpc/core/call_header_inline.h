// The headers that nearly every call has, written and read inline by few instructions: a request of the known method,
// and an OK, both without fields. What is not so goes through functions that look at everything and say what is wrong.
// Part of call_header.h, which says what the functions do.

#ifndef VERBENA_RPC_CORE_CALL_HEADER_INLINE_H_
#define VERBENA_RPC_CORE_CALL_HEADER_INLINE_H_

#include <cassert>
#include <cstring>

#include "base/little_endian.h"
#include "rpc/core/call_header.h"

namespace verbena::rpc {

absl::StatusOr<size_t> EncodeAnyRequestHeader(const RequestHeader& header, absl::Span<std::byte> to);
absl::StatusOr<RequestHeader> DecodeAnyRequestHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes,
                                                     absl::string_view known_method);
absl::StatusOr<ResponseHeader> DecodeAnyResponseHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes);

// Where things stand. Reserved bytes are written as 0 and must be 0.
//   request:  0 version u8, 1 kind u8, 2 method length u16, 4 reserved u32, 8 timeout u64, 16 body length u64
//   response: 0 version u8, 1 status code u8, 2 certainty u8, 3 reserved u8, 4 message length u16, 6 reserved u16,
//             8 body length u64
inline void WriteFixedPart(const RequestHeader& header, std::byte* to) {
  StoreLittleEndian<uint8_t>(kCallHeaderVersion, to);
  StoreLittleEndian<uint8_t>(static_cast<uint8_t>(header.kind), to + 1);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(header.method.size()), to + 2);
  StoreLittleEndian<uint32_t>(0, to + 4);
  StoreLittleEndian<uint64_t>(header.timeout_ns, to + 8);
  StoreLittleEndian<uint64_t>(header.body_bytes, to + 16);
}

inline void WriteFixedPart(const ResponseHeader& header, std::byte* to) {
  StoreLittleEndian<uint8_t>(kCallHeaderVersion, to);
  StoreLittleEndian<uint8_t>(static_cast<uint8_t>(header.code), to + 1);
  StoreLittleEndian<uint8_t>(static_cast<uint8_t>(header.certainty), to + 2);
  StoreLittleEndian<uint8_t>(0, to + 3);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(header.message.size()), to + 4);
  StoreLittleEndian<uint16_t>(0, to + 6);
  StoreLittleEndian<uint64_t>(header.body_bytes, to + 8);
}

// Writes a header that keeps the rules and fits. Its fields stand behind it already. Returns its length.
inline size_t WriteRequestHeader(const RequestHeader& header, std::byte* to) {
  WriteFixedPart(header, to);
  std::memcpy(to + kRequestHeaderFixedBytes, header.method.data(), header.method.size());
  return EncodedBytes(header);
}

inline absl::StatusOr<size_t> EncodeRequestHeader(const RequestHeader& header, absl::Span<std::byte> to,
                                                  absl::string_view known_method) {
  const bool plain = !known_method.empty() && SameMethod(header.method, known_method) && header.fields.empty() &&
                     EncodedBytes(header) <= to.size();
  return plain ? WriteRequestHeader(header, to.data()) : EncodeAnyRequestHeader(header, to);
}

inline size_t EncodeOkResponseHeader(uint64_t body_bytes, absl::Span<std::byte> to) {
  assert(to.size() >= kResponseHeaderFixedBytes);
  ResponseHeader header;
  header.body_bytes = body_bytes;
  WriteFixedPart(header, to.data());
  return kResponseHeaderFixedBytes;
}

// Whether it is a well-formed request of `known_method` without fields.
inline bool IsPlainRequest(absl::Span<const std::byte> bytes, uint64_t payload_bytes, absl::string_view known_method) {
  if (known_method.empty() || bytes.size() != kRequestHeaderFixedBytes + known_method.size()) return false;
  const std::byte* const at = bytes.data();
  const uint64_t start = kCallHeaderVersion | static_cast<uint64_t>(at[1]) << 8 | known_method.size() << 16;
  return LoadLittleEndian<uint64_t>(at) == start && static_cast<int>(at[1]) <= kMethodKindMax &&
         LoadLittleEndian<uint64_t>(at + 16) <= payload_bytes &&
         std::memcmp(at + kRequestHeaderFixedBytes, known_method.data(), known_method.size()) == 0;
}

inline absl::StatusOr<RequestHeader> DecodeRequestHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes,
                                                         absl::string_view known_method) {
  if (!IsPlainRequest(bytes, payload_bytes, known_method)) {
    return DecodeAnyRequestHeader(bytes, payload_bytes, known_method);
  }
  RequestHeader header;
  header.method = known_method;
  header.timeout_ns = LoadLittleEndian<uint64_t>(bytes.data() + 8);
  header.body_bytes = LoadLittleEndian<uint64_t>(bytes.data() + 16);
  header.kind = static_cast<MethodKind>(bytes.data()[1]);
  return header;
}

// Whether it is a well-formed OK without fields.
inline bool IsPlainOk(absl::Span<const std::byte> bytes, uint64_t payload_bytes) {
  constexpr uint64_t kStart = kCallHeaderVersion | static_cast<uint64_t>(absl::StatusCode::kOk) << 8 |
                              static_cast<uint64_t>(Certainty::kExecuted) << 16;
  return bytes.size() == kResponseHeaderFixedBytes && LoadLittleEndian<uint64_t>(bytes.data()) == kStart &&
         LoadLittleEndian<uint64_t>(bytes.data() + 8) <= payload_bytes;
}

inline absl::StatusOr<ResponseHeader> DecodeResponseHeader(absl::Span<const std::byte> bytes, uint64_t payload_bytes) {
  if (!IsPlainOk(bytes, payload_bytes)) return DecodeAnyResponseHeader(bytes, payload_bytes);
  ResponseHeader header;
  header.body_bytes = LoadLittleEndian<uint64_t>(bytes.data() + 8);
  return header;
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_CALL_HEADER_INLINE_H_
