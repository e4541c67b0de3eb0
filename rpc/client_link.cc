#include "rpc/client_link.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/client_connection.h"
#include "rpc/executor/callback_scope.h"

namespace verbena::rpc {
namespace {

RequestSendOutcome ToSessionOutcome(transport::SendOutcome outcome) {
  switch (outcome) {
    case transport::SendOutcome::kDelivered:
      return RequestSendOutcome::kDelivered;
    case transport::SendOutcome::kNotSent:
      return RequestSendOutcome::kNotSent;
    case transport::SendOutcome::kRefused:
      return RequestSendOutcome::kRefused;
    case transport::SendOutcome::kUnknown:
      return RequestSendOutcome::kUnknown;
    case transport::SendOutcome::kNoMemory:
      return RequestSendOutcome::kNoMemory;
  }
  return RequestSendOutcome::kUnknown;
}

}  // namespace

ClientLink::ClientLink(ClientConnection* owner, ClientSession::Epoch epoch,
                       std::unique_ptr<transport::Connection> connection)
    : owner_(*owner),
      epoch_(epoch),
      connection_(std::move(connection)),
      header_bytes_max_(connection_->header_bytes_max()) {
  connection_->set_handler(this);
}

void ClientLink::SendControl(MessageKind kind, uint64_t call_id) {
  if (aborted_) return;
  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(kind);
  message.call_id = call_id;
  message.leaves_unreported = true;
  connection_->Send(std::move(message));
}

uint64_t ClientLink::SendStreamMessage(uint64_t call_id, const StreamHeader& header, transport::PayloadSource* payload,
                                       absl::Cord attachment, bool may_leave,
                                       const std::shared_ptr<MessageStream>& stream) {
  const uint64_t send_id = SendWithStreamHeader(*connection_, MessageKind::kStreamMessage, call_id, Encoded(header),
                                                payload, std::move(attachment), may_leave);
  stream_sends_.Add(send_id, stream, payload);
  return send_id;
}

void ClientLink::SendOfStream(MessageKind kind, uint64_t call_id, const StreamHeader& header) {
  if (!aborted_) SendWithStreamHeader(*connection_, kind, call_id, Encoded(header));
}

void ClientLink::FailCallLater(uint64_t call_id, absl::Status status) {
  owner_.FailCallLater(call_id, std::move(status));
}

void ClientLink::OnUnknownKind(uint8_t kind) {
  if (std::exchange(aborted_, true)) return;
  connection_->Abort(absl::InternalError(absl::StrCat("the server sent a message of kind ", kind)));
}

transport::Verdict ClientLink::OnAnnounced(const transport::MessageHead& head) {
  const CallbackScope scope(&owner_);
  bool fetch = false;
  if (head.kind == static_cast<uint8_t>(MessageKind::kResponse)) {
    fetch = owner_.OnResponseAnnounced(epoch_, head);
  } else if (head.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    fetch = owner_.OnStreamAnnounced(epoch_, head);
  }
  owner_.Settle();
  return fetch ? transport::Verdict::kFetch : transport::Verdict::kRefuse;
}

void ClientLink::OnMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload) {
  const CallbackScope scope(&owner_);
  switch (static_cast<MessageKind>(head.kind)) {
    case MessageKind::kResponse:
      owner_.OnResponse(epoch_, head, payload);
      break;
    case MessageKind::kStreamMessage:
    case MessageKind::kStreamEnd:
    case MessageKind::kStreamWindow:
    case MessageKind::kInitialMetadata:
      owner_.OnStreamMessage(epoch_, head, payload);
      break;
    case MessageKind::kDrain:
      owner_.OnLinkDraining(*this);
      drain_ = Drain::kAsked;
      break;
    case MessageKind::kRequest:
    case MessageKind::kCancel:
    default:  // The peer chooses the number.
      OnUnknownKind(head.kind);
  }
  AnswerDrain();
  owner_.Settle();
}

void ClientLink::OnFetchFailed(const transport::MessageHead& head, const absl::Status& status) {
  const CallbackScope scope(&owner_);
  if (head.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    owner_.OnStreamFetchFailed(epoch_, head.call_id, status);
  } else {
    owner_.session().OnFetchFailed(epoch_, head.call_id, status);
  }
  owner_.Settle();
}

void ClientLink::OnSent(const transport::SentMessage& sent, transport::SendOutcome outcome) {
  const CallbackScope scope(&owner_);
  if (sent.kind == static_cast<uint8_t>(MessageKind::kRequest)) {
    assert(requests_ > 0);
    --requests_;
    owner_.OnRequestSent(epoch_, sent.tag, ToSessionOutcome(outcome));
  } else if (sent.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    stream_sends_.OnSent(sent.send_id, outcome);
  }
  AnswerDrain();
  owner_.Settle();
}

// Behind every request: also behind the large ones, which an answer sent at once would overtake.
void ClientLink::AnswerDrain() {
  if (drain_ != Drain::kAsked || requests_ > 0) return;
  drain_ = Drain::kAnswered;
  SendControl(MessageKind::kDrain, 0);
}

void ClientLink::OnPeerDraining() {
  const CallbackScope scope(&owner_);
  owner_.OnLinkDraining(*this);
}

void ClientLink::OnClosed(const absl::Status& status) {
  const CallbackScope scope(&owner_);
  owner_.OnLinkClosed(*this, status);  // Destroys this.
}

}  // namespace verbena::rpc
