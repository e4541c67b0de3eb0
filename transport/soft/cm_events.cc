// ControlPlane: events, from their cause to their acknowledgement.

#include <cerrno>
#include <utility>

#include "transport/soft/cm_control_plane.h"

namespace verbena::soft {
namespace {

// The errno value that a synchronous call fails with.
int ErrorOf(const rdma_cm_event& event) {
  if (event.status == 0) return 0;
  if (event.event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
  return event.status < 0 ? -event.status : event.status;
}

}  // namespace

// To sleep takes no lock: a program that destroys the channel under a thread which has acknowledged its last event
// (EventChannel) relies on that to sleep by then, as in librdmacm's one call into the kernel.
int ControlPlane::GetEvent(EventChannel& channel, rdma_cm_event** event) {
  for (;;) {
    if (int error = channel.WaitUntilReadable(); error != 0) return error;
    ControlLock lock(mu_);
    std::unique_ptr<QueuedEvent> next = channel.Pop();
    if (next == nullptr) continue;  // Another thread took it.
    CmId& owner = *next->owner;
    --owner.events_queued;
    if (next->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
      if (int error = TakeRequest(owner, static_cast<CmId&>(*next->id), channel); error != 0) return error;
    }
    ++owner.events_unacknowledged;
    *event = next.release();
    return 0;
  }
}

int ControlPlane::TakeRequest(CmId& listener, CmId& request, EventChannel& channel) {
  --listener.requests_queued;
  request.listener = nullptr;
  request.channel = &channel;  // The listener may have migrated since.
  if (!listener.synchronous()) return 0;
  request.own_channel = EventChannel::Create();
  if (request.synchronous()) {
    request.channel = request.own_channel.get();
    return 0;
  }
  int error = errno;
  SendReject(*SocketOf(request).control, kRejectNoResources, {});
  CloseConnection(request);
  Delete(request);
  return error;
}

void ControlPlane::AckEvent(std::unique_ptr<QueuedEvent> event) {
  {
    ControlLock lock(mu_);
    --event->owner->events_unacknowledged;
  }
  event_acknowledged_.notify_all();
}

int ControlPlane::AwaitOutcome(CmId& id) {
  if (!id.synchronous()) return 0;
  AcknowledgeKept(id);
  if (int error = GetEvent(id.event_channel(), &id.event); error != 0) return error;
  return ErrorOf(*id.event);
}

void ControlPlane::AcknowledgeKept(CmId& id) {
  if (id.event == nullptr) return;
  AckEvent(std::unique_ptr<QueuedEvent>(static_cast<QueuedEvent*>(std::exchange(id.event, nullptr))));
}

void ControlPlane::Raise(rdma_cm_event_type type) {
  ControlLock lock(mu_);
  for (CmId* id : ids_) {
    bool offered_to_application = id->listener == nullptr;
    if (id->verbs != nullptr && offered_to_application) Post(*id, type, 0);
  }
}

void ControlPlane::Post(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message) {
  auto event = std::make_unique<QueuedEvent>(&id, type, status);
  event->id = &id;
  if (message != nullptr) event->SetConnectionParameters(*message);
  Push(std::move(event));
}

void ControlPlane::Push(std::unique_ptr<QueuedEvent> event) {
  CmId& owner = *event->owner;
  ++owner.events_queued;
  owner.event_channel().Push(std::move(event));
}

void ControlPlane::DropQueuedEvents(CmId& id) {
  if (std::exchange(id.events_queued, 0) == 0) return;
  for (const std::unique_ptr<QueuedEvent>& event : id.event_channel().TakeEventsOf(&id)) {
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    auto& request = static_cast<CmId&>(*event->id);
    SendReject(*SocketOf(request).control, kRejectConsumer, {});
    CloseConnection(request);
    Delete(request);
  }
}

}  // namespace verbena::soft
