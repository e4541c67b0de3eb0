#include "rpc/server_connection.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/core/load_field.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/status_codec.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/server_loop.h"

namespace verbena::rpc {
namespace {

// How long a client may take to say that no new call follows, before a drain goes on without that.
constexpr absl::Duration kClientDrainTime = absl::Seconds(1);

// Hashes have a seed of the process's own: no peer can choose an identity that shares with another.
ClientId ClientOf(const PeerIdentity& identity, const ServerConnection* connection) {
  return ClientId{identity.authenticated() ? absl::HashOf(identity.mechanism, identity.name)
                                           : absl::HashOf(connection)};
}

}  // namespace

ServerConnection::ServerConnection(ServerLoop* loop, std::unique_ptr<transport::Connection> connection)
    : loop_(*loop),
      peer_(std::make_shared<CallPeer>(CallPeer{connection->peer(), connection->peer_identity()})),
      header_(loop->header_room().first(
          std::clamp(connection->header_bytes_max(), kResponseHeaderRoomMin, kResponseHeaderRoomMax))),
      weak_self_(std::make_shared<ServerConnection*>(this)),
      connection_(std::move(connection)),
      client_(ClientOf(*peer_->identity, this)),
      guard_(loop->access() == nullptr ? nullptr : std::make_unique<CallGuard>(loop->access(), connection_.get())),
      session_(loop->session_options(), &loop->methods(), &loop->tally(), client_, guard_.get(), this),
      timer_(&loop->event_loop(), this),
      drain_timer_(&loop->event_loop(), this) {
  connection_->set_handler(this);
}

ServerConnection::~ServerConnection() {
  *weak_self_ = nullptr;
  for (Slot& slot : slots_) {
    if (slot.finishing != nullptr) CloseStream(*slot.finishing);
    if (slot.running == nullptr) continue;
    slot.running->Detach(peer_);
    CloseStream(*slot.running);
    TellCancelled(*slot.running);
  }
  connection_.reset();  // Before the answers that it may still read.
}

void ServerConnection::GrowSlots(size_t count) { slots_.resize(count); }

transport::Verdict ServerConnection::OnAnnounced(const transport::MessageHead& head) {
  const CallbackScope scope(loop_.gate());
  transport::Verdict verdict = transport::Verdict::kRefuse;
  if (head.kind == static_cast<uint8_t>(MessageKind::kRequest)) {
    const ServerSession::Decision decision =
        session_.OnAnnounced(head.call_id, head.header, head.payload_bytes, loop_.event_loop().Now());
    if (decision.admission == ServerSession::Admission::kAdmit) {
      const bool in_parts = ExpectParts(head, decision);
      verdict = in_parts ? transport::Verdict::kFetchInParts : transport::Verdict::kFetch;
    }
    if (decision.admission == ServerSession::Admission::kReject) Reject(head.call_id, decision.status);
  } else if (head.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    if (OnStreamAnnounced(head)) verdict = transport::Verdict::kFetch;
  }
  Settle();
  return verdict;
}

void ServerConnection::OnMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload) {
  const CallbackScope scope(loop_.gate());
  switch (static_cast<MessageKind>(head.kind)) {
    case MessageKind::kRequest:
      OnRequest(head, payload);
      break;
    case MessageKind::kCancel:
      session_.OnCancel(head.call_id);
      break;
    case MessageKind::kDrain:
      StopAccepting();
      break;
    case MessageKind::kStreamMessage:
    case MessageKind::kStreamEnd:
    case MessageKind::kStreamWindow:
      OnStreamMessage(head, payload);
      break;
    case MessageKind::kResponse:
    default:  // The peer chooses the number.
      Abort(absl::InvalidArgumentError(absl::StrCat("a client sent a message of kind ", head.kind)));
  }
  Settle();
}

absl::Status ServerConnection::CheckPlace(uint32_t method) { return loop_.CheckPlace(method, client_); }

[[gnu::always_inline]] inline void ServerConnection::OnRequest(const transport::MessageHead& head,
                                                               transport::ReceivedPayload& payload) {
  const ServerSession::Decision decision =
      session_.OnRequest(head.call_id, head.header, head.payload_bytes, loop_.event_loop().Now(), head.fetch_id != 0);
  switch (decision.admission) {
    case ServerSession::Admission::kAdmit:
      Run(decision, payload);
      return;
    case ServerSession::Admission::kReject:
      Reject(head.call_id, decision.status);
      return;
    case ServerSession::Admission::kDrop:
      return;
  }
}

[[gnu::always_inline]] inline void ServerConnection::Run(const ServerSession::Decision& decision,
                                                         transport::ReceivedPayload& payload) {
  std::unique_ptr<ServerCall> call = BeginCall(decision);
  const absl::Span<const std::byte> bytes = payload.bytes();
  if (bytes.size() > decision.body_bytes) call->set_request_attachment(payload.Share(decision.body_bytes));
  RunCall(std::move(call), bytes.first(decision.body_bytes));
}

void ServerConnection::KeepMessages(ServerCall& call) { loop_.KeepMessages(call); }

// Nobody is answered. Not inlined: the calls that are answered pass there.
[[gnu::noinline]] void ServerConnection::Discard(std::unique_ptr<ServerCall> call) {
  call->EndInterception(/*answered=*/false);
  const uint32_t method = call->method_index();
  loop_.RecycleCall(std::move(call));
  loop_.OnCallDiscarded(method);
}

void ServerConnection::VisitOpenCalls(absl::FunctionRef<void(uint32_t method)> visit) const {
  for (const Slot& slot : slots_) {
    if (const ServerCall* const call = slot.open()) visit(call->method_index());
  }
}

void ServerConnection::Answer(std::unique_ptr<ServerCall> call) {
  if (call->stream() != nullptr) call->TakeStreamsEnd();
  if (!session_.OnHandlerDone(call->local())) {
    Discard(std::move(call));
  } else if (sends_over_) {
    session_.OnResponseSent(call->local());
    Discard(std::move(call));
  } else {
    if (ServerStreams(call->kind())) {
      SendOfStream(MessageKind::kStreamEnd, call->local(), {call->stream()->leaving(), 0});
    }
    Respond(std::move(call));
  }
}

[[gnu::always_inline]] inline void ServerConnection::Respond(std::unique_ptr<ServerCall> call) {
  const uint64_t local = call->local();
  const bool replies = !ServerStreams(call->kind());
  if (call->status().ok()) call->MeasureReply(loop_.session_options().message_bytes_max);
  call->FitMetadata(header_.size());
  call->EndInterception(/*answered=*/true);  // With what is sent.
  const uint64_t send_id = SendResponse(local, session_.CallIdOf(local), call->status(), call->response_metadata(),
                                        call->status().ok() && replies ? call.get() : nullptr);
  if (send_id == transport::Connection::kLeft) return OnResponseLeft(local, std::move(call));
  Slot& slot = SlotOf(local);
  slot.send_id = send_id;
  slot.responding = std::move(call);
}

// The reply found no memory to be sent from; a status alone needs none. True: it has left.
bool ServerConnection::RespondWithoutReply(uint64_t local) {
  absl::Status status = absl::ResourceExhaustedError("the server has no payload memory to send the response from");
  SetCertainty(&status, Certainty::kExecuted);
  Slot& slot = SlotOf(local);
  slot.send_id = SendStatus(local, session_.CallIdOf(local), status);
  return slot.send_id == transport::Connection::kLeft;
}

[[gnu::always_inline]] inline void ServerConnection::OnResponseLeft(uint64_t local, std::unique_ptr<ServerCall> call) {
  session_.OnResponseSent(local);
  loop_.RecycleCall(std::move(call));
}

void ServerConnection::Reject(uint64_t call_id, const absl::Status& status) {
  if (sends_over_) return session_.OnRejectionSent();
  if (SendStatus(0, call_id, status) == transport::Connection::kLeft) session_.OnRejectionSent();
}

uint64_t ServerConnection::SendStatus(uint64_t local, uint64_t call_id, const absl::Status& status) {
  return SendResponse(local, call_id, status, {}, nullptr);
}

[[gnu::always_inline]] inline uint64_t ServerConnection::SendResponse(uint64_t local, uint64_t call_id,
                                                                      const absl::Status& status,
                                                                      const ResponseMetadata& metadata,
                                                                      ServerCall* reply) {
  size_t header_bytes = EncodeStatus(status, reply == nullptr ? 0 : reply->size(), header_, metadata);
  const absl::Time now = loop_.event_loop().Now();
  if (load_report_.IsDue(now)) header_bytes += AppendLoad(now, header_.subspan(header_bytes));
  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(MessageKind::kResponse);
  message.call_id = call_id;
  message.tag = local;
  message.header = header_.first(header_bytes);
  message.awaited = draining_ || session_.crowded();  // The end waits for it, or calls that come.
  message.leaves_unreported = message.ends_burst = true;
  if (reply != nullptr) {
    message.payload = reply;
    message.attachment = reply->TakeReplyAttachment();
  }
  return connection_->Send(std::move(message));
}

inline size_t ServerConnection::AppendLoad(absl::Time now, absl::Span<std::byte> to) {
  const double load = loop_.MeasureLoad(now);
  const size_t bytes = load_report_.IsNews(load, now) ? rpc::AppendLoad(load, to) : 0;
  if (bytes > 0) load_report_.OnSaid(load, now);
  return bytes;
}

void ServerConnection::OnFetchFailed(const transport::MessageHead& head, const absl::Status& status) {
  if (head.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    if (!absl::IsCancelled(status))
      FailStream(head.call_id, StreamNotFetched(status));  // Withdrawn: the reason follows.
    return Settle();
  }
  if (FailParts(head, status)) return Settle();
  const ServerSession::Decision decision = session_.OnFetchFailed(head.call_id, status);
  if (decision.admission == ServerSession::Admission::kReject) Reject(head.call_id, decision.status);
  Settle();
}

void ServerConnection::OnSent(const transport::SentMessage& sent, transport::SendOutcome outcome) {
  if (sent.kind == static_cast<uint8_t>(MessageKind::kStreamMessage)) {
    const CallbackScope scope(loop_.gate());
    return stream_sends_.OnSent(sent.send_id, outcome);
  }
  if (sent.kind == static_cast<uint8_t>(MessageKind::kResponse)) OnResponseSent(sent.tag, outcome);
}

void ServerConnection::OnResponseSent(uint64_t local, transport::SendOutcome outcome) {
  if (outcome != transport::SendOutcome::kDelivered) load_report_.OnResponseLost();
  if (local == 0) {
    session_.OnRejectionSent();
  } else if (outcome != transport::SendOutcome::kNoMemory || sends_over_ || RespondWithoutReply(local)) {
    OnResponseLeft(local, std::move(SlotOf(local).responding));
  }
  Settle();
}

void ServerConnection::OnClosed(const absl::Status&) {
  session_.OnClosed();
  sends_over_ = true;
  connection_.reset();
  in_parts_.clear();
  for (Slot& slot : slots_) {
    slot.responding = nullptr;
    if (slot.open() != nullptr) CloseStream(*slot.open());  // All, before a handler that is told may use another's.
  }
  loop_.OnConnectionClosed();
  Settle();  // May be the end of this object.
}

void ServerConnection::Drop() {
  if (!closed()) OnClosed(absl::CancelledError("the server drops the connection"));
}

void ServerConnection::StartDraining() {
  if (std::exchange(draining_, true)) return;
  if (!sends_over_) AskForDrain();
  Settle();
}

// The client has answered, or had time enough to. Until then what it sends is accepted: it could not know.
void ServerConnection::StopAccepting() {
  client_drained_ = true;
  session_.StartDraining();
}

void ServerConnection::AskForDrain() {
  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(MessageKind::kDrain);
  message.leaves_unreported = true;
  connection_->Send(std::move(message));
  drain_timer_.SetBy(loop_.event_loop().Now() + kClientDrainTime);
}

void ServerConnection::OnDrainTime() {
  StopAccepting();
  Settle();
}

void ServerConnection::Abort(absl::Status status) {
  if (std::exchange(sends_over_, true)) return;
  connection_->Abort(std::move(status));
}

void ServerConnection::SettleNow() {
  if (settling_) return;
  settling_ = true;
  while (const std::optional<ServerSession::Action> action = session_.NextAction()) {
    const CallbackScope scope(loop_.gate());
    Perform(*action);
  }
  settling_ = false;
  timer_.SetBy(session_.NextDeadline());
  if (!session_.idle()) return;
  if (closed()) {
    loop_.OnConnectionIdle(this);  // Destroys it.
  } else if (draining_ && client_drained_ && !std::exchange(sends_over_, true)) {
    connection_->Drain();
  }
}

void ServerConnection::Perform(const ServerSession::Action& action) {
  Slot& slot = SlotOf(action.local);
  switch (action.kind) {
    case ServerSession::ActionKind::kMarkCancelled:
      if (slot.open() != nullptr) CloseStream(*slot.open());  // What that completes runs later.
      if (slot.running != nullptr) {
        StopParts(*slot.running);
        TellCancelled(*slot.running);
      }
      if (slot.finishing != nullptr) Answer(std::move(slot.finishing));  // That is, to nobody.
      return;
    case ServerSession::ActionKind::kCancelFetch:
      if (!closed()) connection_->CancelFetch(action.call_id);
      return;
    case ServerSession::ActionKind::kCancelSend:
      if (!closed() && slot.responding != nullptr) connection_->CancelSend(slot.send_id);
      return;
    case ServerSession::ActionKind::kAbort:
      Abort(absl::ResourceExhaustedError("the client floods the server with calls that it rejects"));
      return;
  }
}

void ServerConnection::OnTime() {
  session_.OnTime(loop_.event_loop().Due());
  Settle();
}

}  // namespace verbena::rpc
