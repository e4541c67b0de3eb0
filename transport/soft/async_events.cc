#include "transport/soft/async_events.h"

#include <sys/eventfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace verbena::soft {
namespace {

// The address of the object that the event belongs to, whatever its type: every member of the union is that. For an
// event of a port the port's number, for one of the device null; nobody asks for those.
const void* ObjectOf(const ibv_async_event& event) { return event.element.qp; }

// Takes one off the counter, if there is one; never waits, whatever the program has made of the descriptor.
void TakeBackSignal(int fd) {
  uint64_t one = 0;
  iovec to = {.iov_base = &one, .iov_len = sizeof(one)};
  [[maybe_unused]] ssize_t taken = preadv2(fd, &to, 1, -1, RWF_NOWAIT);
}

}  // namespace

void AsyncEvents::RaiseForQueuePair(ibv_event_type type, ibv_qp* queue_pair) {
  ibv_async_event event = {};
  event.event_type = type;
  event.element.qp = queue_pair;
  Raise(event);
}

void AsyncEvents::RaiseForCompletionQueue(ibv_event_type type, ibv_cq* queue) {
  ibv_async_event event = {};
  event.event_type = type;
  event.element.cq = queue;
  Raise(event);
}

void AsyncEvents::RaiseForSharedReceiveQueue(ibv_event_type type, ibv_srq* queue) {
  ibv_async_event event = {};
  event.event_type = type;
  event.element.srq = queue;
  Raise(event);
}

void AsyncEvents::RaiseForPort(ibv_event_type type, int port) {
  ibv_async_event event = {};
  event.event_type = type;
  event.element.port_num = port;
  Raise(event);
}

void AsyncEvents::RaiseForDevice(ibv_event_type type) {
  ibv_async_event event = {};
  event.event_type = type;
  Raise(event);
}

void AsyncEvents::Raise(const ibv_async_event& event) {
  std::lock_guard lock(mu_);
  bool present = std::any_of(waiting_.begin(), waiting_.end(), [&](const ibv_async_event& other) {
    return other.event_type == event.event_type && ObjectOf(other) == ObjectOf(event);
  });
  if (present) return;
  waiting_.push_back(event);
  eventfd_write(fd_.get(), 1);
}

int AsyncEvents::Get(ibv_async_event* event) {
  while (true) {
    eventfd_t one;
    if (eventfd_read(fd_.get(), &one) != 0) return errno;
    std::lock_guard lock(mu_);
    if (waiting_.empty()) continue;  // What the descriptor announced was forgotten meanwhile.
    *event = waiting_.front();
    waiting_.pop_front();
    ++unacknowledged_[ObjectOf(*event)];
    return 0;
  }
}

void AsyncEvents::Acknowledge(const ibv_async_event& event) {
  std::lock_guard lock(mu_);
  auto entry = unacknowledged_.find(ObjectOf(event));
  if (entry == unacknowledged_.end()) return;
  if (--entry->second == 0) unacknowledged_.erase(entry);
  acknowledged_.notify_all();
}

void AsyncEvents::Forget(const void* object) {
  std::unique_lock lock(mu_);
  size_t dropped =
      std::erase_if(waiting_, [object](const ibv_async_event& event) { return ObjectOf(event) == object; });
  for (; dropped != 0; --dropped) TakeBackSignal(fd_.get());
  acknowledged_.wait(lock, [this, object] { return unacknowledged_.count(object) == 0; });
}

}  // namespace verbena::soft
