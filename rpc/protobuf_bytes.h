// Protobuf messages to and from the bytes of a payload. Pure; any thread.

#ifndef VERBENA_RPC_PROTOBUF_BYTES_H_
#define VERBENA_RPC_PROTOBUF_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message_lite.h"

namespace verbena::rpc {

inline constexpr size_t kProtobufBytesMax = std::numeric_limits<int>::max();  // Protobuf's own limit.

// False: the bytes are no such message, or lack a required field.
inline bool ParseMessage(absl::Span<const std::byte> bytes, google::protobuf::MessageLite* message) {
  return bytes.size() <= kProtobufBytesMax && message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Null for null.
inline std::unique_ptr<google::protobuf::MessageLite> CopyOf(const google::protobuf::MessageLite* message) {
  if (message == nullptr) return nullptr;
  std::unique_ptr<google::protobuf::MessageLite> copy(message->New());
  copy->CheckTypeAndMergeFrom(*message);
  return copy;
}

// Of the same type.
inline void Assign(const google::protobuf::MessageLite& from, google::protobuf::MessageLite* to) {
  to->Clear();
  to->CheckTypeAndMergeFrom(from);
}

// Writes a message that has not changed since its ByteSizeLong was taken: that many bytes.
inline void WriteMeasured(const google::protobuf::MessageLite& message, std::byte* to) {
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(to));
}

// The words of CheckMessageBytes, made apart from what every call passes.
[[gnu::cold, gnu::noinline]] inline absl::Status TooManyMessageBytes(absl::string_view what, size_t body_bytes,
                                                                     size_t attachment_bytes,
                                                                     uint64_t message_bytes_max) {
  if (body_bytes > kProtobufBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the ", what, " has ", body_bytes, " bytes; protobuf takes at most ", kProtobufBytesMax));
  }
  return absl::ResourceExhaustedError(absl::StrCat("the ", what, " has ", body_bytes, " bytes and its attachment ",
                                                   attachment_bytes,
                                                   "; together at most message_bytes_max = ", message_bytes_max));
}

// Whether a message may be sent.
inline bool MessageFits(size_t body_bytes, size_t attachment_bytes, uint64_t message_bytes_max) {
  return body_bytes <= kProtobufBytesMax && attachment_bytes <= message_bytes_max &&
         body_bytes <= message_bytes_max - attachment_bytes;
}
// The same; ResourceExhausted says how large `what` is and what the limit is.
inline absl::Status CheckMessageBytes(absl::string_view what, size_t body_bytes, size_t attachment_bytes,
                                      uint64_t message_bytes_max) {
  return MessageFits(body_bytes, attachment_bytes, message_bytes_max)
             ? absl::OkStatus()
             : TooManyMessageBytes(what, body_bytes, attachment_bytes, message_bytes_max);
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_PROTOBUF_BYTES_H_
