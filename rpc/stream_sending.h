// How both ends send what belongs to a call's streams.

#ifndef VERBENA_RPC_STREAM_SENDING_H_
#define VERBENA_RPC_STREAM_SENDING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/stream_header.h"
#include "rpc/message_stream.h"
#include "transport/connection.h"

namespace verbena::rpc {

// The messages of streams that are on their way out of one connection. Keeps their streams.
//
// Owner: the link, or the connection, that sends them. Thread: its loop's.
class StreamSends {
 public:
  // Nothing, of one that has left.
  void Add(uint64_t send_id, const std::shared_ptr<MessageStream>& stream, transport::PayloadSource* payload) {
    if (send_id != transport::Connection::kLeft) sends_.emplace(send_id, Send{stream, payload});
  }
  void OnSent(uint64_t send_id, transport::SendOutcome outcome) {
    const auto sent = sends_.extract(send_id);
    if (!sent.empty()) sent.mapped().stream->OnSent(sent.mapped().payload, outcome);
  }

 private:
  struct Send {
    std::shared_ptr<MessageStream> stream;
    transport::PayloadSource* payload;
  };

  absl::flat_hash_map<uint64_t, Send> sends_;
};

// `header` is encoded. Returns the send's id; or, only if it `may_leave`, Connection::kLeft. `payload` may be null:
// none; `attachment` is what travels beside it.
inline uint64_t SendWithStreamHeader(transport::Connection& connection, MessageKind kind, uint64_t call_id,
                                     absl::Span<const std::byte> header, transport::PayloadSource* payload = nullptr,
                                     absl::Cord attachment = {}, bool may_leave = true) {
  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(kind);
  message.call_id = call_id;
  message.header = header;
  message.payload = payload;
  message.attachment = std::move(attachment);
  message.leaves_unreported = may_leave;
  message.ends_burst = may_leave && payload != nullptr;
  message.refusable = kind == MessageKind::kStreamMessage;  // Its stream is told.
  return connection.Send(std::move(message));
}

inline std::array<std::byte, kStreamHeaderBytes> Encoded(const StreamHeader& header) {
  std::array<std::byte, kStreamHeaderBytes> bytes;
  EncodeStreamHeader(header, bytes.data());
  return bytes;
}

// Why a call ends whose server does not keep to the protocol of streams, or writes what is not the method's message.
inline absl::Status MalformedByServer(const absl::Status& why) {
  return absl::InternalError(absl::StrCat("the server's stream is malformed: ", why.message()));
}

// What the client's user is told of a call that ended with `status`, when he has read what he wants of its stream: a
// message that is none may have shown itself when the call had ended well.
inline absl::Status EndForReader(absl::Status status, const MessageStream& stream) {
  if (!status.ok() || !stream.unreadable()) return status;
  return WithCertainty(MalformedByServer(MessageStream::Unreadable()), Certainty::kOutcomeUnknown);
}

// Why a call ends one of whose stream's messages was not fetched.
inline absl::Status StreamNotFetched(const absl::Status& status) {
  const absl::StatusCode code =
      absl::IsResourceExhausted(status) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return {code, absl::StrCat("a message of the stream was not fetched: ", status.message())};
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_STREAM_SENDING_H_
