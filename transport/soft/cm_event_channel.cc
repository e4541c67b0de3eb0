#include "transport/soft/cm_event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace verbena::soft {
namespace {

struct Registry {
  std::mutex mu;  // Taken last.
  std::unordered_map<const rdma_event_channel*, std::shared_ptr<EventChannel>> channels ABSL_GUARDED_BY(mu);
};

// Never destroyed: threads read channels until the process is gone.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

// Only to be compared: it may be gone.
thread_local const rdma_event_channel* slept_for = nullptr;

}  // namespace

QueuedEvent::QueuedEvent(CmId* owner, rdma_cm_event_type type, int status) : rdma_cm_event{}, owner(owner) {
  this->event = type;
  this->status = status;
}

void QueuedEvent::SetConnectionParameters(const CmMessage& message) {
  private_data = message.private_data;
  rdma_conn_param& conn = param.conn;
  conn.private_data = private_data.length > 0 ? private_data.bytes.data() : nullptr;
  conn.private_data_len = private_data.length;
  // What the peer starts, we respond to.
  conn.responder_resources = message.parameters.initiator_depth;
  conn.initiator_depth = message.parameters.responder_resources;
  conn.flow_control = message.parameters.flow_control;
  conn.retry_count = message.parameters.retry_count;
  conn.rnr_retry_count = message.parameters.rnr_retry_count;
  conn.srq = message.parameters.srq;
  conn.qp_num = message.parameters.qp_num;
}

EventChannel::Owned EventChannel::Create() {
  int event_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (event_fd < 0) return nullptr;
  std::shared_ptr<EventChannel> channel(new EventChannel(event_fd));
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mu);
  registry.channels.emplace(channel.get(), channel);
  return Owned(channel.get());
}

std::shared_ptr<EventChannel> EventChannel::Find(const rdma_event_channel* channel) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mu);
  auto found = registry.channels.find(channel);
  return found != registry.channels.end() ? found->second : nullptr;
}

void EventChannel::Destroy(const rdma_event_channel* channel) {
  if (slept_for == channel) slept_for = nullptr;
  Registry& registry = TheRegistry();
  std::shared_ptr<EventChannel> last;  // Ends after the lock.
  std::lock_guard lock(registry.mu);
  if (auto found = registry.channels.find(channel); found != registry.channels.end()) {
    last = std::move(found->second);
    registry.channels.erase(found);
  }
}

EventChannel::~EventChannel() { close(fd); }

void EventChannel::Push(std::unique_ptr<QueuedEvent> event) {
  events_.push_back(std::move(event));
  eventfd_write(fd, 1);
}

std::unique_ptr<QueuedEvent> EventChannel::Pop() {
  if (events_.empty()) return nullptr;
  std::unique_ptr<QueuedEvent> event = std::move(events_.front());
  events_.pop_front();
  CountDown();
  return event;
}

std::vector<std::unique_ptr<QueuedEvent>> EventChannel::TakeEventsOf(const CmId* owner) {
  std::vector<std::unique_ptr<QueuedEvent>> taken;
  std::deque<std::unique_ptr<QueuedEvent>> kept;
  for (std::unique_ptr<QueuedEvent>& event : events_) {
    if (event->owner == owner) {
      taken.push_back(std::move(event));
      CountDown();
    } else {
      kept.push_back(std::move(event));
    }
  }
  events_ = std::move(kept);
  return taken;
}

std::unique_ptr<QueuedEvent> EventChannel::TakeRequestFor(const CmId* id) {
  auto found = std::find_if(events_.begin(), events_.end(), [id](const std::unique_ptr<QueuedEvent>& event) {
    return event->event == RDMA_CM_EVENT_CONNECT_REQUEST && static_cast<const void*>(event->id) == id;
  });
  assert(found != events_.end());
  std::unique_ptr<QueuedEvent> event = std::move(*found);
  events_.erase(found);
  CountDown();
  return event;
}

int EventChannel::WaitUntilReadable() const {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  bool sleeps = (flags & O_NONBLOCK) == 0;
  slept_for = sleeps ? this : nullptr;
  pollfd waiting = {fd, POLLIN, 0};
  int ready = poll(&waiting, 1, sleeps ? -1 : 0);
  if (ready < 0) return errno;
  return ready == 0 ? EAGAIN : 0;
}

int EventChannel::WaitForDestroyed(const rdma_event_channel* channel) {
  if (slept_for != channel) return EBADF;
  pause();
  return EINTR;
}

// Never waits: the count is that of the queue.
void EventChannel::CountDown() {
  eventfd_t one;
  eventfd_read(fd, &one);
}

}  // namespace verbena::soft
