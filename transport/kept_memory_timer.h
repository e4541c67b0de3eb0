// Has payload memory that is kept and not needed given back, while there may be some: as long as links come and go, and
// after them until little is left. A loop that has neither sleeps undisturbed.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_
#define VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_

#include <cstddef>

#include "transport/deadline_timer.h"
#include "transport/event_loop.h"
#include "transport/payload_arena.h"

namespace verbena::transport {

class KeptMemoryTimer {
 public:
  explicit KeptMemoryTimer(EventLoop* loop) : loop_(*loop), timer_(loop, this) {}

  // A link was made.
  void OnLink() {
    ++links_;
    SetTimer();
  }
  void OnLinkGone() { --links_; }
  // The loop is going.
  void Cancel() { timer_.Cancel(); }

 private:
  void SetTimer() { timer_.SetBy(loop_.Now() + PayloadArena::kPeriod); }
  void OnTime() {
    const bool much_is_kept = PayloadArena::Get().GiveBackUnused(loop_.Now());
    if (much_is_kept || links_ > 0) SetTimer();
  }

  EventLoop& loop_;
  DeadlineTimer<KeptMemoryTimer, &KeptMemoryTimer::OnTime> timer_;
  size_t links_ = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_
