// ControlPlane: the passive side of a connection, from the port's socket to the reply.

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/control_io/descriptor_table.h"
#include "transport/soft/device.h"
#include "transport/soft/link.h"
#include "transport/soft/process_faults.h"
#include "transport/soft/stream/control_stream.h"

namespace verbena::soft {
namespace {

// With no descriptors left there is no use in trying again at once.
constexpr std::chrono::milliseconds kAcceptPause{50};

LinkParameters PassiveParameters(const ConnectionParameters& parameters, const ConnectionParameters& requested,
                                 uint8_t ack_timeout) {
  LinkParameters link;
  link.responder_resources = parameters.responder_resources;
  link.initiator_depth = parameters.initiator_depth;
  link.retry_count = requested.retry_count;  // "Ignored when accepting": the active side's holds.
  link.rnr_retry_count = parameters.rnr_retry_count;
  link.timeout = ack_timeout;
  return link;
}

}  // namespace

int ControlPlane::Listen(CmId& id, int backlog) {
  ControlLock lock(mu_);
  if (id.state == IdState::kIdle) {
    if (int error = BindLocked(id, SocketAddress::Wildcard(AF_INET, 0)); error != 0) return error;
  }
  if (id.state != IdState::kBound) return EINVAL;
  if (int error = thread_.Start(); error != 0) return error;
  int error = ports_.Listen(&id);
  if (error == 0) error = WatchPort(id);
  if (error != 0) {
    ReleasePort(id);
    id.state = IdState::kIdle;
    return error;
  }
  id.backlog = backlog > 0 && backlog < limits_.backlog_max ? backlog : limits_.backlog_max;
  id.state = IdState::kListening;
  return 0;
}

int ControlPlane::WatchPort(CmId& id) {
  for (PortTable::Socket socket : ports_.SocketsOf(&id)) {
    if (int error = socket.for_streams ? CheckSecretFile() : 0; error != 0) return error;
    uint64_t key = kPortKeyBit | ++last_key_;
    if (int error = thread_.Watch(socket.fd, key); error != 0) return error;
    port_sockets_.emplace(key, PortSocket{.socket = socket});
    id.port_keys.push_back(key);
  }
  return 0;
}

// To close the sockets is to watch them no more.
void ControlPlane::ReleasePort(CmId& id) {
  for (uint64_t key : std::exchange(id.port_keys, {})) {
    port_sockets_.erase(key);
    deadlines_.Cancel(key);
  }
  ports_.Release(&id);
}

void ControlPlane::AcceptPeers(uint64_t key) {
  auto found = port_sockets_.find(key);
  if (found == port_sockets_.end()) return;  // Released since epoll_wait returned.
  for (int i = 0; i < kAcceptedPerTurnMax; ++i) {
    PeerSocket socket;
    int error = AcceptFrom(found->second.socket, &socket.control);
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
      thread_.Unwatch(found->second.socket.fd);
      return SetDeadline(key, kAcceptPause);
    }
    if (error == EAGAIN) return;
    if (error != 0) continue;  // This peer is refused or gone.
    socket.port_key = key;
    const std::set<uint64_t>& silent = found->second.silent_peers;
    if (silent.size() >= limits_.silent_peers_max) CloseSocket(*silent.begin());
    uint64_t added;
    if (AddSocket(std::move(socket), limits_.silence_timeout, &added) == 0) ReadRequest(added);
  }
}

int ControlPlane::AcceptFrom(PortTable::Socket port, std::unique_ptr<ControlSocket>* accepted) {
  if (port.for_streams) return AcceptControlStream(port.fd, accepted);
  UniqueFd connected;
  ucred peer;
  int error = AcceptPeer(port.fd, &connected, &peer);
  if (error == 0) *accepted = MakeUnixControlSocket(std::move(connected), peer);
  return error;
}

void ControlPlane::ReadRequest(uint64_t key) {
  ReceivedMessage received;
  switch (sockets_.at(key).control->Receive(&received)) {
    case Receipt::kMessage:
      if (received.message.type != MessageType::kRequest) return CloseSocket(key);
      return OnRequest(key, std::move(received));
    case Receipt::kNothing:
      return;
    case Receipt::kEnd:
    case Receipt::kMalformed:
      return CloseSocket(key);
  }
}

void ControlPlane::OnRequest(uint64_t key, ReceivedMessage received) {
  PeerSocket& socket = sockets_.at(key);
  const SocketAddress& destination = received.message.destination;
  CmId* listener = ports_.FindListener(destination);
  if (listener == nullptr || listener->requests_queued >= listener->backlog || SoftContext() == nullptr) {
    SendReject(*socket.control, listener == nullptr ? kRejectNoListener : kRejectNoResources, {});
    return CloseSocket(key);
  }
  CmId* id = NewId(listener->ps);
  id->channel = listener->channel;
  id->context = listener->context;
  SetSource(*id, destination);
  SetDestination(*id, received.message.source);
  SetPath(*id);
  id->listener = listener;
  id->socket_key = key;
  id->state = IdState::kRequested;
  id->fds = std::move(received.fds);
  id->request = std::make_unique<CmMessage>(std::move(received.message));
  id->agreement = AgreementOf(id->request->parameters, id->request->parameters.retry_count);
  socket.id = id;
  EndSilence(key);
  deadlines_.Cancel(key);

  auto event = std::make_unique<QueuedEvent>(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
  event->id = id;
  event->listen_id = listener;
  event->SetConnectionParameters(*id->request);
  ++listener->requests_queued;
  Push(std::move(event));
}

void ControlPlane::DropRequest(CmId& request) {
  CloseConnection(request);
  CmId& listener = *request.listener;
  listener.event_channel().TakeRequestFor(&request);
  --listener.events_queued;
  --listener.requests_queued;
  Delete(request);
}

int ControlPlane::Accept(CmId& id, const std::optional<ConnectionParameters>& parameters,
                         const PrivateData& private_data) {
  ControlLock lock(mu_);
  if (id.state != IdState::kRequested || (id.qp == nullptr && !parameters.has_value())) return EINVAL;
  ControlSocket& socket = *SocketOf(id).control;
  ConnectionParameters agreed = parameters.value_or(id.agreement.parameters);
  if (!parameters.has_value()) agreed.rnr_retry_count = kRetryForEver;
  std::vector<UniqueFd> fds;
  absl::StatusOr<CmMessage> reply = MakeReply(id, agreed, &fds);
  int error = ErrnoOf(reply.status());
  if (error == 0) {
    reply->private_data = private_data;
    std::optional<Fault> fault = FaultOfNextCall(FaultOperation::kAccept);
    bool lost = fault.has_value() && fault->kind == FaultKind::kLoseAccept;
    if (fault.has_value() && !lost) id.confirmation_lateness = std::chrono::milliseconds(fault->amount);
    error = lost ? 0 : socket.Send(*reply, fds);
    // The peer may be gone: the control thread will find the socket at its end.
    if (error == EPIPE || error == ECONNRESET) error = 0;
  }
  if (error != 0) {
    SendReject(socket, kRejectNoResources, {});
    CloseConnection(id);
    id.state = IdState::kClosed;
    MoveToError(id.qp);
    return error;
  }
  id.state = IdState::kAccepted;
  Rewatch(id.socket_key);
  SetDeadline(id.socket_key, limits_.answer_timeout);
  return 0;
}

absl::StatusOr<CmMessage> ControlPlane::MakeReply(CmId& id, const ConnectionParameters& agreed,
                                                  std::vector<UniqueFd>* fds) {
  CmMessage reply;
  reply.type = MessageType::kReply;
  reply.parameters = agreed;
  id.agreement.parameters.responder_resources = agreed.responder_resources;
  id.agreement.parameters.initiator_depth = agreed.initiator_depth;
  const std::unique_ptr<CmMessage> request = std::move(id.request);
  LinkOffer offer{std::move(request->offer), std::move(id.fds)};
  if (id.qp == nullptr) return reply;
  absl::StatusOr<LinkOffer> answer = SocketOf(id).control->AcceptOffer(
      id.qp, std::move(offer), PassiveParameters(agreed, request->parameters, id.ack_timeout));
  if (!answer.ok()) return answer.status();
  reply.parameters.qp_num = id.qp->qp_num;
  reply.parameters.srq = id.qp->srq != nullptr;
  reply.offer = std::move(answer->bytes);
  *fds = std::move(answer->fds);
  return reply;
}

int ControlPlane::Reject(CmId& id, uint8_t reason, const PrivateData& private_data) {
  ControlLock lock(mu_);
  if (id.state != IdState::kRequested) return EINVAL;
  SendReject(*SocketOf(id).control, reason, private_data);
  CloseConnection(id);
  id.state = IdState::kClosed;
  return 0;
}

// The passive side was used before READY_TO_USE came: so the active side is established.
int ControlPlane::Notify(CmId& id, ibv_event_type event) {
  ControlLock lock(mu_);
  if (event != IBV_EVENT_COMM_EST) return EINVAL;
  if (id.state == IdState::kEstablished) return EISCONN;
  if (id.state != IdState::kAccepted) return EINVAL;
  id.confirmation_due = !id.confirmation_withheld;
  BecomeEstablished(id, nullptr);
  return 0;
}

// Best effort: to a peer that is gone there is nothing to say.
void ControlPlane::SendReject(ControlSocket& socket, uint8_t reason, const PrivateData& private_data) {
  CmMessage reject;
  reject.type = MessageType::kReject;
  reject.reject_reason = reason;
  reject.private_data = private_data;
  socket.Send(reject, {});
}

}  // namespace verbena::soft
