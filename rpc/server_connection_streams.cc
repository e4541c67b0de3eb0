// What a server's connection does with the streams of its calls.

#include <utility>

#include "rpc/core/metadata_codec.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/server_connection.h"
#include "rpc/server_loop.h"

namespace verbena::rpc {

uint64_t ServerConnection::SendStreamMessage(uint64_t local, const StreamHeader& header, const Metadata& initial,
                                             transport::PayloadSource* payload, absl::Cord attachment, bool may_leave,
                                             const std::shared_ptr<MessageStream>& stream) {
  const uint64_t send_id =
      SendWithStreamHeader(*connection_, MessageKind::kStreamMessage, session_.CallIdOf(local),
                           EncodeHeader(header, initial), payload, std::move(attachment), may_leave);
  stream_sends_.Add(send_id, stream, payload);
  return send_id;
}

void ServerConnection::SendOfStream(MessageKind kind, uint64_t local, const StreamHeader& header,
                                    const Metadata& initial) {
  if (sends_over_) return;
  SendWithStreamHeader(*connection_, kind, session_.CallIdOf(local), EncodeHeader(header, initial));
}

absl::Span<const std::byte> ServerConnection::EncodeHeader(const StreamHeader& header, const Metadata& initial) {
  EncodeStreamHeader(header, header_.data());
  HeaderFieldWriter fields(header_.subspan(kStreamHeaderBytes));
  AppendMetadata(HeaderFieldType::kInitialMetadata, initial, fields);
  return header_.first(kStreamHeaderBytes + fields.size());
}

void ServerConnection::CancelSend(uint64_t send_id) {
  if (!closed()) connection_->CancelSend(send_id);
}

std::shared_ptr<MessageStream> ServerConnection::StreamOf(uint64_t call_id) {
  const std::optional<uint64_t> local = session_.FindRunning(call_id);
  if (!local.has_value()) return nullptr;
  ServerCall* const running = SlotOf(*local).running;
  return running == nullptr || running->stream() == nullptr ? nullptr : running->stream()->shared_from_this();
}

bool ServerConnection::OnStreamAnnounced(const transport::MessageHead& head) {
  const std::shared_ptr<MessageStream> stream = StreamOf(head.call_id);
  if (stream == nullptr) return false;
  const absl::Status announced = stream->OnAnnounced(head.header, head.payload_bytes);
  if (!announced.ok()) FailStream(head.call_id, announced);
  return announced.ok();
}

void ServerConnection::OnStreamMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload) {
  const std::shared_ptr<MessageStream> stream = StreamOf(head.call_id);
  if (stream == nullptr) return;
  const absl::Status received = stream->OnInbound(static_cast<MessageKind>(head.kind), head.header, payload);
  if (!received.ok()) FailStream(head.call_id, received);
}

void ServerConnection::FailStream(uint64_t call_id, const absl::Status& status) {
  // What fails may belong to an earlier call of this id, which need not have been of a kind that streams.
  if (StreamOf(call_id) == nullptr) return;
  Reject(call_id, session_.OnStreamFailed(*session_.FindRunning(call_id), status).status);
}

void ServerConnection::FailStreamLater(uint64_t local, absl::Status status) {
  loop_.event_loop().Post([weak = weak_self_, local, status = std::move(status)] {
    ServerConnection* const connection = *weak;
    if (connection == nullptr) return;
    const std::optional<uint64_t> call_id = connection->session_.FindCallId(local);
    if (!call_id.has_value()) return;  // It has ended meanwhile.
    const CallbackScope scope(connection->loop_.gate());
    connection->FailStream(*call_id, status);
    connection->Settle();
  });
}

void ServerConnection::AnswerLater(uint64_t local) {
  loop_.event_loop().Post([weak = weak_self_, local] {
    ServerConnection* const connection = *weak;
    if (connection == nullptr) return;
    Slot& slot = connection->SlotOf(local);
    if (slot.finishing == nullptr || slot.finishing->local() != local) return;  // Given up meanwhile.
    const CallbackScope scope(connection->loop_.gate());
    connection->Answer(std::move(slot.finishing));
    connection->Settle();
  });
}

void ServerConnection::CloseStream(ServerCall& call) {
  if (call.stream() == nullptr) return;
  // A handler on a thread of its own may find it closed at once, and takes that for the client's end unless told.
  call.SayCancelled();
  CancelFetches(call);
  call.stream()->Close(MessageStream::Unread::kDrop);
}

bool ServerConnection::FinishStream(ServerCall& call) {
  CancelFetches(call);
  return call.stream()->Finish();
}

void ServerConnection::CancelFetches(const ServerCall& call) {
  if (call.stream()->fetching() && !closed()) connection_->CancelFetch(session_.CallIdOf(call.local()));
}

}  // namespace verbena::rpc
