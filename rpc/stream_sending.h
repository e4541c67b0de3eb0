// How both ends send what belongs to a call's streams.

#ifndef VERBENA_RPC_STREAM_SENDING_H_
#define VERBENA_RPC_STREAM_SENDING_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/stream_header.h"
#include "transport/connection.h"

namespace verbena::rpc {

// `header` is encoded. Returns the send's id. `payload` may be null: none; `attachment` is what travels beside it.
inline uint64_t SendWithStreamHeader(transport::Connection& connection, MessageKind kind, uint64_t call_id,
                                     absl::Span<const std::byte> header, transport::PayloadSource* payload,
                                     absl::Cord attachment = {}) {
  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(kind);
  message.call_id = call_id;
  message.header = header;
  message.payload = payload;
  message.attachment = std::move(attachment);
  return connection.Send(std::move(message));
}

inline std::array<std::byte, kStreamHeaderBytes> Encoded(const StreamHeader& header) {
  std::array<std::byte, kStreamHeaderBytes> bytes;
  EncodeStreamHeader(header, bytes.data());
  return bytes;
}

// Why a call ends one of whose stream's messages was not fetched.
inline absl::Status StreamNotFetched(const absl::Status& status) {
  const absl::StatusCode code =
      absl::IsResourceExhausted(status) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return {code, absl::StrCat("a message of the stream was not fetched: ", status.message())};
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_STREAM_SENDING_H_
