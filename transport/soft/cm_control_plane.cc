#include "transport/soft/cm_control_plane.h"

#include <cassert>
#include <cerrno>
#include <utility>

#include "transport/soft/device.h"
#include "transport/soft/link.h"

namespace verbena::soft {
int ErrnoOf(const absl::Status& status) {
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

// Ids.

CmId* ControlPlane::CreateId(EventChannel& channel, void* context, rdma_port_space space) {
  auto* id = new CmId(space);
  id->channel = &channel;
  id->context = context;
  id->qp_type = IBV_QPT_RC;
  return id;
}

void ControlPlane::DestroyId(CmId& id) {
  ControlLock lock(mu_);
  if (id.state == IdState::kRequested) SendReject(*SocketOf(id).control, kRejectConsumer, {});
  bool linked = id.state == IdState::kAccepted || id.state == IdState::kEstablished;
  if (linked && id.qp != nullptr) OnPeerGone(id.qp);
  CloseConnection(id);
  ports_.Release(&id);
  id.state = IdState::kClosed;
  DropQueuedEvents(id);
  event_acknowledged_.wait(lock, [&id] { return id.events_unacknowledged == 0; });
  delete &id;
}

void ControlPlane::MigrateId(CmId& id, EventChannel& channel) {
  ControlLock lock(mu_);
  event_acknowledged_.wait(lock, [&id] { return id.events_unacknowledged == 0; });
  std::vector<std::unique_ptr<QueuedEvent>> events = id.event_channel().TakeEventsOf(&id);
  id.channel = &channel;
  for (std::unique_ptr<QueuedEvent>& event : events) channel.Push(std::move(event));
}

int ControlPlane::SetIpv6Only(CmId& id, bool ipv6_only) {
  ControlLock lock(mu_);
  if (id.state != IdState::kIdle) return EINVAL;
  id.ipv6_only = ipv6_only;
  return 0;
}

int ControlPlane::MakeQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  ControlLock lock(mu_);
  if (domain == nullptr || id.verbs == nullptr || domain->context != id.verbs || id.qp != nullptr) return EINVAL;
  ibv_qp* queue_pair = nullptr;
  if (int error = CreateQueuePair(domain, attributes, &queue_pair); error != 0) return error;
  id.qp = queue_pair;
  id.pd = domain;
  id.srq = attributes->srq;
  id.send_cq = attributes->send_cq;
  id.send_cq_channel = id.send_cq->channel;
  id.recv_cq = attributes->recv_cq;
  id.recv_cq_channel = id.recv_cq->channel;
  return 0;
}

void ControlPlane::DropQueuePair(CmId& id) {
  ibv_qp* queue_pair;
  {
    ControlLock lock(mu_);
    queue_pair = std::exchange(id.qp, nullptr);
  }
  if (queue_pair != nullptr) DestroyQueuePair(queue_pair);
}

// Events.

int ControlPlane::GetEvent(EventChannel& channel, rdma_cm_event** event) {
  for (;;) {
    {
      ControlLock lock(mu_);
      if (std::unique_ptr<QueuedEvent> next = channel.Pop(); next != nullptr) {
        ++next->owner->events_unacknowledged;
        if (next->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
          --next->owner->requests_queued;
          auto* request = static_cast<CmId*>(next->id);
          request->listener = nullptr;
          request->channel = &channel;  // The listener may have migrated since.
        }
        *event = next.release();
        return 0;
      }
    }
    if (int error = channel.WaitUntilReadable(); error != 0) return error;
  }
}

void ControlPlane::AckEvent(std::unique_ptr<QueuedEvent> event) {
  {
    ControlLock lock(mu_);
    --event->owner->events_unacknowledged;
  }
  event_acknowledged_.notify_all();
}

void ControlPlane::Post(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message) {
  auto event = std::make_unique<QueuedEvent>(&id, type, status);
  event->id = &id;
  if (message != nullptr) event->SetConnectionParameters(*message);
  id.event_channel().Push(std::move(event));
}

void ControlPlane::DropQueuedEvents(CmId& id) {
  for (const std::unique_ptr<QueuedEvent>& event : id.event_channel().TakeEventsOf(&id)) {
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    auto* request = static_cast<CmId*>(event->id);
    SendReject(*SocketOf(*request).control, kRejectConsumer, {});
    CloseConnection(*request);
    delete request;
  }
}

// Sockets and deadlines.

int ControlPlane::AddSocket(PeerSocket socket, std::chrono::milliseconds timeout, uint64_t* key) {
  uint64_t added = ++last_key_;
  socket.watched_events = socket.control->wanted_events();
  if (int error = thread_.Watch(socket.control->fd(), added, socket.watched_events); error != 0) return error;
  if (socket.id == nullptr) ++silent_peers_;
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

void ControlPlane::CloseSocket(uint64_t key) {
  auto found = sockets_.find(key);
  if (found->second.id == nullptr) --silent_peers_;
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

void ControlPlane::AbandonSockets() {
  sockets_.clear();
  ports_.Clear();
  thread_.Abandon();
}

// The control thread.

void ControlPlane::OnReadable(uint64_t key) {
  ControlLock lock(mu_);
  if ((key & kPortKeyBit) != 0) return AcceptPeers(static_cast<uint16_t>(key));
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
    thread_.Watch(ports_.SocketOf(static_cast<uint16_t>(key)), key);
    return;
  }
  CmId* id = sockets_.at(key).id;
  if (id == nullptr) return CloseSocket(key);
  if (id->state == IdState::kConnecting) return FailAttempt(*id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  assert(id->state == IdState::kAccepted);  // Other states have no deadline.
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
    deadlines_.Cancel(id.socket_key);
    id.state = IdState::kEstablished;
    Post(id, RDMA_CM_EVENT_ESTABLISHED, 0);
  } else {
    OnConnectionEnd(id);
  }
}

void ControlPlane::OnConnectionEnd(CmId& id) {
  switch (id.state) {
    case IdState::kConnecting:
      return FailAttempt(id, RDMA_CM_EVENT_UNREACHABLE, -SocketOf(id).control->end_reason());
    case IdState::kRequested:
      if (id.listener != nullptr) return DropRequest(id);
      return FailAttempt(id, RDMA_CM_EVENT_REJECTED, kRejectTimeout);
    case IdState::kAccepted:
      return BreakLink(id, RDMA_CM_EVENT_REJECTED, kRejectTimeout);
    case IdState::kEstablished:
      return BreakLink(id, RDMA_CM_EVENT_DISCONNECTED, 0);
    case IdState::kIdle:
    case IdState::kBound:
    case IdState::kAddressResolved:
    case IdState::kRouteResolved:
    case IdState::kListening:
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
