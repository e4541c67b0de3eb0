// ControlPlane: the active side of a connection, and its end.

#include <cerrno>
#include <utility>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/link.h"

namespace verbena::soft {
namespace {

LinkParameters ActiveParameters(const ConnectionParameters& parameters) {
  LinkParameters link;
  link.responder_resources = parameters.responder_resources;
  link.initiator_depth = parameters.initiator_depth;
  link.retry_count = parameters.retry_count;
  link.rnr_retry_count = parameters.rnr_retry_count;
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
  if (id.state != IdState::kRouteResolved || id.qp == nullptr) return EINVAL;
  if (int error = thread_.Start(); error != 0) return error;
  UniqueFd connected;
  ucred peer;
  int error = ConnectToPort(id.destination.port, &connected, &peer);
  if (error != 0 && IsLocal(error)) return error;
  if (error != 0) {
    ConnectFailure failure = FailureOf(error);
    FailAttempt(id, failure.type, failure.status);
    return 0;
  }
  PeerSocket socket = {.control = MakeUnixControlSocket(std::move(connected), peer), .id = &id};
  absl::StatusOr<LinkOffer> offer = socket.control->MakeOffer(id.qp, ActiveParameters(parameters));
  if (!offer.ok()) return ErrnoOf(offer.status());
  CmMessage request;
  request.type = MessageType::kRequest;
  request.parameters = parameters;
  request.parameters.qp_num = id.qp->qp_num;
  request.parameters.srq = id.srq != nullptr;
  request.source = id.source;
  request.destination = id.destination;
  request.private_data = private_data;
  request.offer = std::move(offer->bytes);
  error = socket.control->Send(request, offer->fds);
  if (error != 0 && error != EPIPE && error != ECONNRESET) return error;
  // If the listener went away in between, the control thread finds the socket at its end.
  error = AddSocket(std::move(socket), limits_.answer_timeout, &id.socket_key);
  if (error == 0) id.state = IdState::kConnecting;
  return error;
}

void ControlPlane::OnReply(CmId& id, ReceivedMessage received) {
  ControlSocket& socket = *SocketOf(id).control;
  LinkOffer answer{std::move(received.message.offer), std::move(received.fds)};
  absl::Status status = id.qp == nullptr ? absl::FailedPreconditionError("the queue pair was destroyed")
                                         : socket.CompleteOffer(id.qp, std::move(answer));
  if (!status.ok()) return FailAttempt(id, RDMA_CM_EVENT_CONNECT_ERROR, -ErrnoOf(status));
  CmMessage confirmation;
  confirmation.type = MessageType::kReadyToUse;
  int error = socket.Send(confirmation, {});
  // If the peer is gone, the end of the socket says so too, and becomes DISCONNECTED.
  if (error != 0 && error != EPIPE && error != ECONNRESET) return BreakLink(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
  deadlines_.Cancel(id.socket_key);
  id.state = IdState::kEstablished;
  Post(id, RDMA_CM_EVENT_ESTABLISHED, 0, &received.message);
}

int ControlPlane::Disconnect(CmId& id) {
  ControlLock lock(mu_);
  if (id.state == IdState::kClosed) {
    MoveToError(id.qp);
    return 0;
  }
  if (id.state != IdState::kEstablished && id.state != IdState::kAccepted) return EINVAL;
  MoveToError(id.qp);
  CloseConnection(id);
  id.state = IdState::kClosed;
  Post(id, RDMA_CM_EVENT_DISCONNECTED, 0);
  return 0;
}

}  // namespace verbena::soft
