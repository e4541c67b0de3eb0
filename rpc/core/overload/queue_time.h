// How long may something wait in a queue? A short wait is what queues are for: they smooth bursts. A queue that stands
// smooths nothing; it adds its length to every call, and a server that works it off answers callers who have given up.
//
// The rule is CoDel's (Nichols, Jacobson: Controlling Queue Delay, CACM 55(7), 2012) as adapted for request queues by
// Maurer (Fail at Scale, ACM Queue 13(8), 2015), in one sentence: until the queue has stood for `time_max` without ever
// being empty nobody is refused, and from then on nobody waits longer than `time_target`. So who came at t may wait
// until
//
//   max(t + time_target, queue was last empty + time_max)        which is never later than t + time_max.
//
// Of two that wait, the one that came first is overdue first. With time_target = time_max it is a fixed bound.
//
// A value. Owner and thread: its queue's.

#ifndef VERBENA_RPC_CORE_OVERLOAD_QUEUE_TIME_H_
#define VERBENA_RPC_CORE_OVERLOAD_QUEUE_TIME_H_

#include <algorithm>

#include "absl/time/time.h"

namespace verbena::rpc {

class QueueTime {
 public:
  // Infinite `time_max`: anything may wait for ever. A `time_target` beyond it means the same as one like it.
  QueueTime(absl::Duration time_max, absl::Duration time_target)
      : max_(time_max), target_(std::min(time_target, time_max)) {}

  // Something comes to the queue, and finds it empty.
  void OnFirst(absl::Time now) { empty_at_ = now; }

  // When what came at `since`, and still waits, has waited too long. Grows with `since`.
  absl::Time DeadlineOf(absl::Time since) const { return std::max(since + target_, empty_at_ + max_); }

  absl::Duration max() const { return max_; }
  absl::Duration target() const { return target_; }

 private:
  absl::Duration max_;
  absl::Duration target_;
  absl::Time empty_at_ = absl::InfinitePast();
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_QUEUE_TIME_H_
