#include "transport/soft/cm_control_plane.h"

#include <cassert>
#include <cerrno>
#include <optional>
#include <utility>

#include "transport/soft/device.h"
#include "transport/soft/errno_status.h"
#include "transport/soft/link.h"
#include "transport/soft/stream/stream.h"

namespace verbena::soft {

int ErrnoOf(const absl::Status& status) {
  if (std::optional<int> error = RememberedErrno(status)) return *error;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
      return EINVAL;
    case absl::StatusCode::kResourceExhausted:
      return ENOMEM;
    case absl::StatusCode::kPermissionDenied:
      return EACCES;
    case absl::StatusCode::kUnavailable:
      return ECONNRESET;
    default:
      return EIO;
  }
}

void MoveToError(ibv_qp* queue_pair) {
  if (queue_pair == nullptr) return;
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  ModifyQueuePair(queue_pair, &attributes, IBV_QP_STATE);
}

// Sockets and deadlines.

int ControlPlane::AddSocket(PeerSocket socket, std::chrono::milliseconds timeout, uint64_t* key) {
  uint64_t added = ++last_key_;
  socket.watched_events = socket.control->wanted_events();
  if (int error = thread_.Watch(socket.control->fd(), added, socket.watched_events); error != 0) return error;
  if (socket.id == nullptr) port_sockets_.at(socket.port_key).silent_peers.insert(added);
  sockets_.emplace(added, std::move(socket));
  SetDeadline(added, timeout);
  *key = added;
  return 0;
}

void ControlPlane::Rewatch(uint64_t key) {
  auto found = sockets_.find(key);
  if (found == sockets_.end()) return;
  PeerSocket& socket = found->second;
  uint32_t events = socket.control->wanted_events();
  if (std::exchange(socket.watched_events, events) != events) thread_.Rewatch(socket.control->fd(), key, events);
}

void ControlPlane::EndSilence(uint64_t key) {
  auto port = port_sockets_.find(sockets_.at(key).port_key);
  if (port != port_sockets_.end()) port->second.silent_peers.erase(key);
}

void ControlPlane::CloseSocket(uint64_t key) {
  auto found = sockets_.find(key);
  EndSilence(key);
  thread_.Unwatch(found->second.control->fd());
  deadlines_.Cancel(key);
  sockets_.erase(found);
}

void ControlPlane::CloseConnection(CmId& id) {
  if (id.has_connection()) CloseSocket(std::exchange(id.socket_key, 0));
}

void ControlPlane::SetDeadline(uint64_t key, std::chrono::milliseconds timeout) {
  if (deadlines_.Set(key, std::chrono::steady_clock::now() + timeout)) thread_.Wake();
}

void ControlPlane::LockForFork() {
  mu_.lock();
  Stream::LockForFork();
}

void ControlPlane::UnlockAfterFork() {
  Stream::UnlockAfterFork();
  mu_.unlock();
}

// Streams first: a control socket that ends with its stream still open would end the parent's connection.
void ControlPlane::AbandonSockets() {
  Stream::AbandonAll();
  sockets_.clear();
  for (CmId* id : ids_) id->fds.clear();
  port_sockets_.clear();
  ports_.Clear();
  thread_.Abandon();
  mu_.unlock();
}

// The control thread.

void ControlPlane::OnReadable(uint64_t key) {
  ControlLock lock(mu_);
  if ((key & kPortKeyBit) != 0) return AcceptPeers(key);
  auto found = sockets_.find(key);
  if (found == sockets_.end()) return;  // Closed since epoll_wait returned.
  if (found->second.id == nullptr) {
    ReadRequest(key);
  } else {
    ReadConnection(key);
  }
  Rewatch(key);
}

std::optional<ControlPlane::TimePoint> ControlPlane::OnTime(TimePoint now) {
  ControlLock lock(mu_);
  while (std::optional<uint64_t> key = deadlines_.PopExpired(now)) OnDeadline(*key);
  return deadlines_.Next();
}

void ControlPlane::OnDeadline(uint64_t key) {
  if ((key & kPortKeyBit) != 0) {
    thread_.Watch(port_sockets_.at(key).socket.fd, key);
    return;
  }
  if ((key & kWaitKeyBit) != 0) {
    CmId& id = *waiting_.at(key);
    StopWaiting(id);
    if (id.state != IdState::kConnecting) return Post(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    if (int error = Reach(id); error != 0) FailAttempt(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
    return;
  }
  CmId* id = sockets_.at(key).id;
  if (id == nullptr) return CloseSocket(key);
  if (id->state == IdState::kConnecting) return FailAttempt(*id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  assert(id->state == IdState::kAccepted);  // Other states have no deadline.
  if (id->confirmation_withheld) return BecomeEstablished(*id, nullptr);
  BreakLink(*id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

void ControlPlane::ReadConnection(uint64_t key) {
  for (auto found = sockets_.find(key); found != sockets_.end(); found = sockets_.find(key)) {
    CmId& id = *found->second.id;
    ReceivedMessage received;
    switch (found->second.control->Receive(&received)) {
      case Receipt::kMessage:
        OnMessage(id, std::move(received));
        break;
      case Receipt::kNothing:
        return;
      case Receipt::kEnd:
      case Receipt::kMalformed:
        return OnConnectionEnd(id);
    }
  }
}

void ControlPlane::OnMessage(CmId& id, ReceivedMessage received) {
  const CmMessage& message = received.message;
  if (id.state == IdState::kConnecting && message.type == MessageType::kReply) {
    OnReply(id, std::move(received));
  } else if (id.state == IdState::kConnecting && message.type == MessageType::kReject) {
    FailAttempt(id, RDMA_CM_EVENT_REJECTED, message.reject_reason, &message);
  } else if (id.state == IdState::kAccepted && message.type == MessageType::kReadyToUse) {
    OnConfirmation(id);
  } else if (id.confirmation_due && message.type == MessageType::kReadyToUse) {
    id.confirmation_due = false;
  } else {
    OnConnectionEnd(id);
  }
}

void ControlPlane::OnConfirmation(CmId& id) {
  if (id.confirmation_lateness.count() == 0) return BecomeEstablished(id, nullptr);
  id.confirmation_withheld = true;
  SetDeadline(id.socket_key, id.confirmation_lateness);
}

void ControlPlane::BecomeEstablished(CmId& id, const CmMessage* message) {
  deadlines_.Cancel(id.socket_key);
  id.state = IdState::kEstablished;
  Post(id, RDMA_CM_EVENT_ESTABLISHED, 0, message);
}

void ControlPlane::OnConnectionEnd(CmId& id) {
  switch (id.state) {
    case IdState::kConnecting:
    case IdState::kAnswered:
      return OnAttemptEnd(id);
    case IdState::kRequested:
      if (id.listener != nullptr) return DropRequest(id);
      return FailAttempt(id, RDMA_CM_EVENT_REJECTED, kRejectTimeout);
    case IdState::kAccepted:
      return BreakLink(id, RDMA_CM_EVENT_REJECTED, kRejectTimeout);
    case IdState::kEstablished:
      BreakLink(id, RDMA_CM_EVENT_DISCONNECTED, 0);
      id.state = IdState::kDisconnected;
      return;
    case IdState::kIdle:
    case IdState::kBound:
    case IdState::kAddressResolved:
    case IdState::kRouteResolved:
    case IdState::kListening:
    case IdState::kDisconnected:
    case IdState::kClosed:
      assert(false);  // These have no connection.
  }
}

void ControlPlane::FailAttempt(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message) {
  CloseConnection(id);
  id.state = IdState::kClosed;
  MoveToError(id.qp);
  Post(id, type, status, message);
}

void ControlPlane::BreakLink(CmId& id, rdma_cm_event_type type, int status) {
  CloseConnection(id);
  id.state = IdState::kClosed;
  if (id.qp != nullptr) OnPeerGone(id.qp);
  Post(id, type, status);
}

}  // namespace verbena::soft
