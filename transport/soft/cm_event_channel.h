// An event channel: a queue of connection-manager events and the eventfd that says how many wait.
//
// The eventfd (EFD_SEMAPHORE) counts exactly the queued events, so the application may poll it. Owner: the application,
// from CmCreateEventChannel to CmDestroyEventChannel, and every thread that is in CmGetEvent meanwhile. Guarded by
// ControlPlane::mu_, except WaitUntilReadable and the static functions.
//
// Programs destroy a channel under a thread that reads it: when their last id is gone no event can come, and
// librdmacm's reader sleeps on in the kernel, which keeps the file open under it. So does ours, until a signal or the
// end of the process, and so does a reader that the scheduler kept from its sleep until then: rping exits with an error
// where it is told. Any other thread is told that there is no such channel, as long as none has got its address.

#ifndef VERBENA_TRANSPORT_SOFT_CM_EVENT_CHANNEL_H_
#define VERBENA_TRANSPORT_SOFT_CM_EVENT_CHANNEL_H_

#include <rdma/rdma_cma.h>

#include <deque>
#include <memory>
#include <vector>

#include "transport/soft/cm_message.h"

namespace verbena::soft {

struct CmId;

// An event with the memory that it points to. While it is queued its channel owns it, then the application, until
// CmAckEvent.
struct QueuedEvent : rdma_cm_event {
  QueuedEvent(CmId* owner, rdma_cm_event_type type, int status);
  // Makes `param.conn` what `message` says, seen from the receiving side.
  void SetConnectionParameters(const CmMessage& message);

  CmId* const owner;  // Whose destruction waits for the acknowledgement: the id, or a connect request's listener.
  PrivateData private_data;
};

class EventChannel : public rdma_event_channel {
 public:
  struct Destroyer {
    void operator()(EventChannel* channel) const { Destroy(channel); }
  };
  using Owned = std::unique_ptr<EventChannel, Destroyer>;

  // Null with errno set if there is no descriptor left.
  static Owned Create();
  // What the application has created and not destroyed; null otherwise. To be held by who sleeps for its events.
  static std::shared_ptr<EventChannel> Find(const rdma_event_channel* channel);
  // It is found no more, and ends with the last of its readers. Nothing, if it is not one.
  static void Destroy(const rdma_event_channel* channel);
  ~EventChannel();
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  void Push(std::unique_ptr<QueuedEvent> event);
  // The oldest, or null.
  std::unique_ptr<QueuedEvent> Pop();
  // Takes out, in order, what is accounted to `owner`.
  std::vector<std::unique_ptr<QueuedEvent>> TakeEventsOf(const CmId* owner);
  // Takes out the connect request that offers `id`, which is queued.
  std::unique_ptr<QueuedEvent> TakeRequestFor(const CmId* id);

  // Sleeps until an event may be there: 0, EINTR; if there is none and the application made the descriptor
  // non-blocking, EAGAIN at once.
  int WaitUntilReadable() const;
  // For a thread that would read a channel that is not found: EBADF. If it was the last that this thread slept for and
  // another thread has destroyed it since, sleeps first, until a signal: EINTR.
  static int WaitForDestroyed(const rdma_event_channel* channel);

 private:
  explicit EventChannel(int event_fd) : rdma_event_channel{event_fd} {}
  void CountDown();

  std::deque<std::unique_ptr<QueuedEvent>> events_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_EVENT_CHANNEL_H_
