// What a client connection does with the streams of its calls.

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/client_connection.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/status_codec.h"
#include "rpc/stream_sending.h"

namespace verbena::rpc {
namespace {

// A response that was held came without payload, or it would not have been.
class NoPayload : public transport::ReceivedPayload {
 public:
  absl::Span<const std::byte> bytes() const override { return {}; }
  absl::Cord Share(size_t) override { return {}; }
};

}  // namespace

// Null: nobody waits for what belongs to this call's streams.
std::shared_ptr<MessageStream> ClientConnection::StreamOf(ClientSession::Epoch epoch, uint64_t call_id) {
  const ClientCall* const call = FindCall(call_id);
  if (call == nullptr || call->user().stream == nullptr || !session_.IsOpen(epoch, call_id)) return nullptr;
  return call->user().stream;
}

void ClientConnection::OnRequestSent(ClientSession::Epoch epoch, uint64_t call_id, RequestSendOutcome outcome) {
  session_.OnSent(epoch, call_id, outcome, loop_.Now());
  if (outcome != RequestSendOutcome::kDelivered) return;
  // Not before: a request that goes to another connection must have nothing behind it.
  if (const auto stream = StreamOf(epoch, call_id)) stream->OpenWrites();
}

bool ClientConnection::OnStreamAnnounced(ClientSession::Epoch epoch, const transport::MessageHead& head) {
  const std::shared_ptr<MessageStream> stream = StreamOf(epoch, head.call_id);
  if (stream == nullptr) return false;
  const absl::Status announced = stream->OnAnnounced(head.header, head.payload_bytes);
  if (!announced.ok()) FailStream(head.call_id, announced);
  return announced.ok();
}

void ClientConnection::OnStreamMessage(ClientSession::Epoch epoch, const transport::MessageHead& head,
                                       transport::ReceivedPayload& payload) {
  const std::shared_ptr<MessageStream> stream = StreamOf(epoch, head.call_id);
  if (stream == nullptr) return;
  const absl::Status received = stream->OnInbound(static_cast<MessageKind>(head.kind), head.header, payload);
  if (!received.ok()) return FailStream(head.call_id, received);
  ReleaseResponse(epoch, head.call_id);
}

void ClientConnection::OnStreamFetchFailed(ClientSession::Epoch epoch, uint64_t call_id, const absl::Status& status) {
  if (StreamOf(epoch, call_id) == nullptr || absl::IsCancelled(status)) return;  // Withdrawn: the reason follows.
  FailStream(call_id, StreamNotFetched(status));
}

void ClientConnection::FailStream(uint64_t call_id, const absl::Status& why) {
  session_.Fail(call_id, absl::IsInvalidArgument(why) ? MalformedByServer(why) : why, loop_.Now());
}

// A call that is being given up: what came for its stream was dropped, and so the answer says nothing.
bool ClientConnection::HasDroppedStream(ClientSession::Epoch epoch, uint64_t call_id) {
  const ClientCall* const call = FindCall(call_id);
  return call != nullptr && ServerStreams(call->user().kind) && !session_.IsOpen(epoch, call_id);
}

bool ClientConnection::OnResponseAnnounced(ClientSession::Epoch epoch, const transport::MessageHead& head) {
  return !HasDroppedStream(epoch, head.call_id) &&
         session_.OnResponseAnnounced(epoch, head.call_id, head.payload_bytes);
}

// A response overtakes large messages of the stream that are being fetched still: they were written before it.
bool ClientConnection::HoldResponse(ClientSession::Epoch epoch, const transport::MessageHead& head) {
  const std::shared_ptr<MessageStream> stream = StreamOf(epoch, head.call_id);
  if (stream == nullptr || !stream->ended() || stream->complete() || head.payload_bytes > 0) return false;
  FindCall(head.call_id)->HoldResponse(head.header);  // It has a stream.
  return true;
}

void ClientConnection::ReleaseResponse(ClientSession::Epoch epoch, uint64_t call_id) {
  const ClientCall* const call = FindCall(call_id);
  if (call == nullptr || call->held_response().empty()) return;  // It may have ended while a completion ran the loop.
  const std::string header = call->held_response();
  const std::shared_ptr<MessageStream> stream = StreamOf(epoch, call_id);
  if (stream == nullptr || !stream->complete()) return;
  NoPayload payload;
  OnResponse(epoch,
             {static_cast<uint8_t>(MessageKind::kResponse),
              call_id,
              {reinterpret_cast<const std::byte*>(header.data()), header.size()},
              0},
             payload);
}

}  // namespace verbena::rpc
