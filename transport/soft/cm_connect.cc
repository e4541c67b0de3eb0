// ControlPlane: the active side of a connection, and its end.

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/link.h"
#include "transport/soft/process_faults.h"
#include "transport/soft/stream/control_stream.h"

namespace verbena::soft {
namespace {

LinkParameters ActiveParameters(const ConnectionParameters& parameters, uint8_t ack_timeout) {
  LinkParameters link;
  link.responder_resources = parameters.responder_resources;
  link.initiator_depth = parameters.initiator_depth;
  link.retry_count = parameters.retry_count;
  link.rnr_retry_count = parameters.rnr_retry_count;
  link.timeout = ack_timeout;
  return link;
}

// What the application is told when a socket cannot be connected.
struct ConnectFailure {
  rdma_cm_event_type type;
  int status;
};

ConnectFailure FailureOf(int error) {
  if (error == ECONNREFUSED) return {RDMA_CM_EVENT_REJECTED, kRejectNoListener};
  return {RDMA_CM_EVENT_UNREACHABLE, -error};
}

// Errors of this process, which rdma_connect itself reports; the others are the network's, and come as an event.
bool IsLocal(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS || error == ETOOMANYREFS;
}

}  // namespace

int ControlPlane::Connect(CmId& id, const ConnectionParameters& parameters, const PrivateData& private_data) {
  ControlLock lock(mu_);
  if (id.state != IdState::kRouteResolved) return EINVAL;
  if (int error = thread_.Start(); error != 0) return error;
  std::optional<Fault> fault = FaultOfNextCall(FaultOperation::kConnect);
  const auto befalls = [&fault](FaultKind kind) { return fault.has_value() && fault->kind == kind; };
  if (befalls(FaultKind::kRejectConnect) || befalls(FaultKind::kUnreachableConnect)) {
    bool rejected = fault->kind == FaultKind::kRejectConnect;
    FailAttempt(id, rejected ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE,
                rejected ? static_cast<int>(fault->amount) : -ETIMEDOUT);
    return 0;
  }
  if (befalls(FaultKind::kSlowConnect)) LingerInConnect(id, fault->amount, lock);
  id.request = std::make_unique<CmMessage>();
  id.request->parameters = parameters;
  id.request->private_data = private_data;
  id.lose_request = befalls(FaultKind::kLoseConnect);
  id.offered = id.qp != nullptr;
  id.patience_end = std::chrono::steady_clock::now() + limits_.listener_patience;
  int error = Reach(id);
  if (befalls(FaultKind::kLateReturn)) LingerInConnect(id, fault->amount, lock);
  return error;
}

void ControlPlane::LingerInConnect(CmId& id, uint32_t milliseconds, ControlLock& lock) {
  id.in_connect = true;
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  lock.lock();
  id.in_connect = false;
  connect_returned_.notify_all();
}

void ControlPlane::AwaitReturnOfConnect(const CmId& id, ControlLock& lock) {
  connect_returned_.wait(lock, [&id] { return !id.in_connect; });
}

int ControlPlane::Reach(CmId& id) {
  bool queue_pair_is_gone = id.offered && id.qp == nullptr;
  if (queue_pair_is_gone) return EINVAL;
  PeerSocket socket = {.control = nullptr, .watched_events = 0, .id = &id};
  int error = OpenSocket(id, &socket.control);
  bool later_perhaps = error == ECONNREFUSED || error == EAGAIN;  // No listener, or one with a full queue.
  if (later_perhaps && WaitForListener(id)) return 0;
  if (error != 0 && IsLocal(error)) return error;
  if (error != 0) {
    ConnectFailure failure = FailureOf(error);
    FailAttempt(id, failure.type, failure.status);
    return 0;
  }
  std::vector<UniqueFd> fds;
  absl::StatusOr<CmMessage> request = MakeRequest(id, *socket.control, &fds);
  if (!request.ok()) return ErrnoOf(request.status());
  error = id.lose_request ? 0 : socket.control->Send(*request, fds);
  if (error == EPIPE || error == ECONNRESET) error = 0;  // The control thread finds the socket at its end.
  if (error == 0) error = AddSocket(std::move(socket), limits_.answer_timeout, &id.socket_key);
  if (error == 0) {
    id.state = IdState::kConnecting;
  } else if (id.offered) {
    AbandonOffer(id.qp);
  }
  return error;
}

bool ControlPlane::WaitForListener(CmId& id) {
  if (std::chrono::steady_clock::now() >= id.patience_end) return false;
  id.state = IdState::kConnecting;
  StartWaiting(id, limits_.listener_interval);
  return true;
}

void ControlPlane::OnAttemptEnd(CmId& id) {
  const int reason = SocketOf(id).control->end_reason();
  const bool nobody_listens = id.state == IdState::kConnecting && reason == ECONNREFUSED;
  if (nobody_listens && WaitForListener(id)) {
    CloseConnection(id);
    if (id.offered && id.qp != nullptr) AbandonOffer(id.qp);
    return;
  }
  ConnectFailure failure = FailureOf(reason);
  FailAttempt(id, failure.type, failure.status);
}

int ControlPlane::OpenSocket(const CmId& id, std::unique_ptr<ControlSocket>* socket) {
  if (id.over_tcp) return OpenControlStream(id.source, id.destination, socket);
  UniqueFd connected;
  ucred peer;
  int error = ConnectToAddress(id.destination, &connected, &peer);
  if (error == 0) *socket = MakeUnixControlSocket(std::move(connected), peer);
  return error;
}

absl::StatusOr<CmMessage> ControlPlane::MakeRequest(CmId& id, ControlSocket& socket, std::vector<UniqueFd>* fds) {
  CmMessage request;
  request.type = MessageType::kRequest;
  request.parameters = id.request->parameters;
  request.private_data = id.request->private_data;
  request.source = id.source;
  request.destination = id.destination;
  id.agreement.parameters = request.parameters;
  if (!id.offered) return request;
  absl::StatusOr<LinkOffer> offer = socket.MakeOffer(id.qp, ActiveParameters(id.request->parameters, id.ack_timeout));
  if (!offer.ok()) return offer.status();
  request.parameters.qp_num = id.qp->qp_num;
  request.parameters.srq = id.qp->srq != nullptr;
  request.offer = std::move(offer->bytes);
  *fds = std::move(offer->fds);
  return request;
}

void ControlPlane::OnReply(CmId& id, ReceivedMessage received) {
  CmMessage& reply = received.message;
  deadlines_.Cancel(id.socket_key);
  id.request = nullptr;
  id.agreement = AgreementOf(reply.parameters, id.agreement.parameters.retry_count);
  if (!id.offered) {
    id.state = IdState::kAnswered;
    return Post(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &reply);
  }
  LinkOffer answer{std::move(reply.offer), std::move(received.fds)};
  absl::Status status = id.qp == nullptr ? absl::FailedPreconditionError("the queue pair was destroyed")
                                         : SocketOf(id).control->CompleteOffer(id.qp, std::move(answer));
  if (!status.ok()) return FailAttempt(id, RDMA_CM_EVENT_CONNECT_ERROR, -ErrnoOf(status));
  if (int error = Confirm(id); error != 0) return BreakLink(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
  BecomeEstablished(id, &reply);
}

// If the peer is gone, the end of the socket says so too, and becomes DISCONNECTED.
int ControlPlane::Confirm(CmId& id) {
  CmMessage confirmation;
  confirmation.type = MessageType::kReadyToUse;
  int error = SocketOf(id).control->Send(confirmation, {});
  return error == EPIPE || error == ECONNRESET ? 0 : error;
}

int ControlPlane::Establish(CmId& id) {
  ControlLock lock(mu_);
  if (id.state != IdState::kAnswered || id.qp != nullptr) return EINVAL;
  if (int error = Confirm(id); error != 0) return error;
  Rewatch(id.socket_key);
  id.state = IdState::kEstablished;
  return 0;
}

int ControlPlane::GetPeerCredentials(const CmId& id, ucred* credentials) {
  ControlLock lock(mu_);
  const bool connected = id.state == IdState::kAccepted || id.state == IdState::kEstablished;
  if (!connected || !id.has_connection()) return ENOTCONN;
  const std::optional<ucred> peer = SocketOf(id).control->peer();
  if (!peer.has_value()) return EOPNOTSUPP;
  *credentials = *peer;
  return 0;
}

int ControlPlane::Disconnect(CmId& id) {
  ControlLock lock(mu_);
  switch (id.state) {
    case IdState::kEstablished:
    case IdState::kAccepted:
      CloseConnection(id);
      Post(id, RDMA_CM_EVENT_DISCONNECTED, 0);
      [[fallthrough]];
    case IdState::kDisconnected:
      id.state = IdState::kClosed;
      StartWaiting(id, limits_.timewait);
      [[fallthrough]];
    case IdState::kClosed:
      MoveToError(id.qp);
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace verbena::soft
