// ControlPlane: ids, from their making to their end.

#include <cerrno>
#include <utility>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/link.h"

namespace verbena::soft {

CmId* ControlPlane::CreateId(EventChannel* channel, void* context, rdma_port_space space) {
  EventChannel::Owned own;
  if (channel == nullptr) {
    own = EventChannel::Create();
    if (own == nullptr) return nullptr;
    channel = own.get();
  }
  ControlLock lock(mu_);
  CmId* id = NewId(space);
  id->channel = channel;
  id->own_channel = std::move(own);
  id->context = context;
  return id;
}

CmId* ControlPlane::NewId(rdma_port_space space) {
  auto id = std::make_unique<CmId>(space);
  id->qp_type = IBV_QPT_RC;
  ids_.insert(id.get());
  return id.release();
}

void ControlPlane::Delete(CmId& id) {
  StopWaiting(id);
  if (id.qp != nullptr) owners_.erase(id.qp);
  ids_.erase(&id);
  delete &id;
}

void ControlPlane::DestroyId(CmId& id) {
  AcknowledgeKept(id);
  ControlLock lock(mu_);
  AwaitReturnOfConnect(id, lock);
  if (id.state == IdState::kRequested) SendReject(*SocketOf(id).control, kRejectConsumer, {});
  bool linked = id.state == IdState::kAccepted || id.state == IdState::kEstablished;
  if (linked && id.qp != nullptr) OnPeerGone(id.qp);
  CloseConnection(id);
  ReleasePort(id);
  id.state = IdState::kClosed;
  StopWaiting(id);
  DropQueuedEvents(id);
  event_acknowledged_.wait(lock, [&id] { return id.events_unacknowledged == 0; });
  DropQueuedEvents(id);  // What Raise has posted during the wait.
  Delete(id);
}

int ControlPlane::MigrateId(CmId& id, EventChannel* channel) {
  EventChannel::Owned own;
  if (channel == nullptr) {
    if (id.synchronous()) return EINVAL;
    own = EventChannel::Create();
    if (own == nullptr) return errno;
    channel = own.get();
  }
  AcknowledgeKept(id);
  ControlLock lock(mu_);
  event_acknowledged_.wait(lock, [&id] { return id.events_unacknowledged == 0; });
  std::vector<std::unique_ptr<QueuedEvent>> events = id.event_channel().TakeEventsOf(&id);
  id.channel = channel;
  id.own_channel.swap(own);
  for (std::unique_ptr<QueuedEvent>& event : events) channel->Push(std::move(event));
  return 0;
}

int ControlPlane::SetIpv6Only(CmId& id, bool ipv6_only) {
  ControlLock lock(mu_);
  if (id.state != IdState::kIdle) return EINVAL;
  id.ipv6_only = ipv6_only;
  return 0;
}

int ControlPlane::SetAckTimeout(CmId& id, uint8_t timeout) {
  constexpr uint8_t kTimeoutMax = 31;
  if (timeout > kTimeoutMax) return EINVAL;
  ControlLock lock(mu_);
  id.ack_timeout = timeout;
  return 0;
}

void ControlPlane::StartWaiting(CmId& id, std::chrono::milliseconds time) {
  id.wait_key = kWaitKeyBit | ++last_key_;
  waiting_.emplace(id.wait_key, &id);
  SetDeadline(id.wait_key, time);
}

void ControlPlane::StopWaiting(CmId& id) {
  if (id.wait_key == 0) return;
  deadlines_.Cancel(id.wait_key);
  waiting_.erase(std::exchange(id.wait_key, 0));
}

}  // namespace verbena::soft
