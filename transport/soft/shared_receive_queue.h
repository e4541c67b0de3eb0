// A shared receive queue: receives that any of its queue pairs may take, the limit event, and who waits for one.
//
// A queue pair that finds it empty parks its message and is marked ready again by the next post.
//
// Owner: the application, as an ibv_srq. Outlives its queue pairs. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_SHARED_RECEIVE_QUEUE_H_
#define VERBENA_TRANSPORT_SOFT_SHARED_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/async_events.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/fault_injector.h"
#include "transport/soft/receive_queue.h"
#include "transport/soft/spin_lock.h"

namespace verbena::soft {

// A queue pair that waits for a receive: its receive completion queue, and its index there.
struct ReceiveWaiter {
  CompletionQueue* queue;
  uint32_t queue_pair_index;

  bool operator==(const ReceiveWaiter&) const = default;
};

class SharedReceiveQueue : public ibv_srq {
 public:
  SharedReceiveQueue(ibv_pd* domain, const ibv_srq_init_attr& attributes, AsyncEvents* events);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  // ibv_post_srq_recv.
  int Post(const ibv_recv_wr* requests, const ibv_recv_wr** bad_request);

  // Takes the oldest receive. If there is none, `waiter` waits for one.
  bool Take(ReceiveRequest* request, const ReceiveWaiter& waiter);
  void StopWaiting(const ReceiveWaiter& waiter);

  // ibv_modify_srq. IBV_SRQ_LIMIT: raises SRQ_LIMIT_REACHED once when fewer receives than that are posted; 0 disarms.
  // IBV_SRQ_MAX_WR: another capacity. EINVAL, and nothing changes, if the limit is beyond the capacity, or the capacity
  // is 0 or less than what is posted.
  int Modify(const ibv_srq_attr& wish, int mask);
  ibv_srq_attr Query();

  std::atomic<int> users{0};  // Queue pairs.

 private:
  int PostOne(const ibv_recv_wr& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckLimit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReachLimit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RaiseLimitEvent();

  AsyncEvents* const async_events_;
  SpinLock mu_;
  ReceiveQueue receives_ ABSL_GUARDED_BY(mu_);
  uint32_t limit_ ABSL_GUARDED_BY(mu_) = 0;  // 0: not armed.
  std::vector<ReceiveWaiter> waiters_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<FaultInjector> faults_ ABSL_GUARDED_BY(mu_);  // Null: none.
  uint32_t takes_before_event_ ABSL_GUARDED_BY(mu_) = 0;  // Receives until a limit event that is late; 0: none is.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SHARED_RECEIVE_QUEUE_H_
