#include "transport/acceptor.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace verbena::transport {

void Reject(verbs::ConnectionId& id, const wire::Rejection& rejection) {
  std::array<std::byte, wire::kRejectionBytes> bytes;
  wire::EncodeRejection(rejection, bytes.data());
  id.Reject(bytes).IgnoreError();
}

wire::Rejection RejectionFor(wire::RejectReason reason) {
  return wire::Rejection{reason, wire::kVersion, wire::kVersion};
}

void Acceptor::Start(CmChannel* channel, ConnectRequest request) {
  Begin(channel);
  peer_ = request.id.PeerAddress();
  request.waiting.reset();
  if (absl::Status status = Answer(channel, std::move(request)); !status.ok()) Finish(status);
}

void Acceptor::OnEvent(verbs::CmEvent& event) {
  if (absl::Status failure = event.Failure(); !failure.ok()) return Finish(failure);
  if (event.type() == RDMA_CM_EVENT_ESTABLISHED) OnConfirmed();
}

// A frame says no less than the client's confirmation, which may be lost: it is sent again only after seconds. Not
// from within the link, which changes hands; frames that come meanwhile are kept.
bool Acceptor::OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) {
  const bool taken = ConnectionSetup::OnSendArrived(receive, bytes);
  if (!std::exchange(frame_came_, true)) group_->Defer([self = shared_from_this(), this] { OnConfirmed(); });
  return taken;
}

void Acceptor::OnConfirmed() {
  if (pending() && link_ != nullptr) Succeed(*agreement_, /*initiator=*/false);
}

absl::Status Acceptor::Answer(CmChannel* channel, ConnectRequest request) {
  if (absl::Status status = FindGroup(request.id); !status.ok()) {
    return Refuse(request.id, ReasonOf(status), status);
  }
  const protocol::ServerHandshake handshake(HandshakeOffer());
  const auto verdict = handshake.OnOffer(request.private_data);
  if (const auto* rejection = std::get_if<wire::Rejection>(&verdict); rejection != nullptr) {
    return RefuseWith(request.id, *rejection,
                      absl::InvalidArgumentError(absl::StrCat("its hello: ", ToString(rejection->reason))));
  }
  if (acceptance_->closing) {
    return Refuse(request.id, wire::RejectReason::kShuttingDown, absl::UnavailableError("shutting down"));
  }
  if (policy_.authenticator != nullptr) {
    place_.emplace(acceptance_->unauthenticated);
    if (place_->number() > options_.unauthenticated_connections_max) {
      return Refuse(request.id, wire::RejectReason::kTooManyConnections,
                    absl::ResourceExhaustedError("unauthenticated_connections_max is reached"));
    }
  }
  // The id stays where it can be rejected until the link has everything that it needs.
  if (absl::Status status = MakeLink(channel, std::move(request.id)); !status.ok()) {
    return Refuse(link_ == nullptr ? request.id : link_->id(), ReasonOf(status), status);
  }
  agreement_ = std::get<protocol::Agreement>(verdict);
  agreement_->ours = protocol::AnswerOf(*agreement_, static_cast<uint16_t>(share_.granted()));
  agreement_->ours.receive_buffer_bytes = static_cast<uint32_t>(group_->receive_buffer_bytes());
  std::array<std::byte, wire::kHelloBytes> hello;
  wire::EncodeHello(agreement_->ours, hello.data());
  verbs::ConnectionParameters parameters = Parameters(hello);
  parameters.responder_resources = std::min(parameters.responder_resources, request.responder_resources);
  parameters.initiator_depth = std::min(parameters.initiator_depth, request.initiator_depth);
  link_->id().SetAckTimeout(options_.ack_timeout).IgnoreError();  // Or the device keeps its own.
  return link_->id().Accept(parameters);
}

wire::RejectReason Acceptor::ReasonOf(const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status)) return wire::RejectReason::kDevice;
  return group_ != nullptr && !reserved_ ? wire::RejectReason::kTooManyConnections : wire::RejectReason::kNoMemory;
}

absl::Status Acceptor::Refuse(verbs::ConnectionId& id, wire::RejectReason reason, absl::Status why) {
  return RefuseWith(id, RejectionFor(reason), std::move(why));
}

absl::Status Acceptor::RefuseWith(verbs::ConnectionId& id, const wire::Rejection& rejection, absl::Status why) {
  Reject(id, rejection);
  return why;
}

void Acceptor::Done(absl::StatusOr<std::unique_ptr<Connection>> outcome) {
  place_.reset();
  if (!outcome.ok()) {
    acceptance_->audit_log.Refused(absl::StrCat("a connection from ", peer_), outcome.status(), loop_->Now());
  } else if (!acceptance_->ended) {
    acceptance_->on_accept(*std::move(outcome));
  }
}

}  // namespace verbena::transport
