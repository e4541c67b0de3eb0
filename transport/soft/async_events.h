// Asynchronous events of the device: what ibv_get_async_event reads.
//
// The descriptor is an eventfd in semaphore mode, readable while events wait. Bounded: each object, and so the port and
// the device, has at most one event of a type waiting.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_ASYNC_EVENTS_H_
#define VERBENA_TRANSPORT_SOFT_ASYNC_EVENTS_H_

#include <infiniband/verbs.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class AsyncEvents {
 public:
  explicit AsyncEvents(UniqueFd fd) : fd_(std::move(fd)) {}

  void RaiseForQueuePair(ibv_event_type type, ibv_qp* queue_pair);
  void RaiseForCompletionQueue(ibv_event_type type, ibv_cq* queue);
  void RaiseForSharedReceiveQueue(ibv_event_type type, ibv_srq* queue);
  void RaiseForPort(ibv_event_type type, int port);
  void RaiseForDevice(ibv_event_type type);

  // The next event. 0, or an errno value: EAGAIN if the descriptor is non-blocking and nothing waits.
  int Get(ibv_async_event* event);
  void Acknowledge(const ibv_async_event& event);

  // Drops what waits for an object (the address of its ibv_ structure) and waits until all that was read for it is
  // acknowledged, as destroying a verbs object must.
  void Forget(const void* object);

  int fd() const { return fd_.get(); }

 private:
  void Raise(const ibv_async_event& event);

  const UniqueFd fd_;
  std::mutex mu_;
  std::condition_variable acknowledged_;
  std::deque<ibv_async_event> waiting_ ABSL_GUARDED_BY(mu_);
  std::map<const void*, int> unacknowledged_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ASYNC_EVENTS_H_
