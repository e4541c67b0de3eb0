// Has memory that is kept and not needed given back, the process's payload memory and the owner's own, while there may
// be some: as long as links come and go, and after them until little is left. A loop that has neither sleeps
// undisturbed.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_
#define VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "transport/deadline_timer.h"
#include "transport/event_loop.h"
#include "transport/payload_arena.h"

namespace verbena::transport {

class KeptMemoryTimer {
 public:
  // `give_back_own` is called once in a period; it returns whether there may be more to give back in the next.
  KeptMemoryTimer(EventLoop* loop, std::function<bool()> give_back_own)
      : loop_(*loop), give_back_own_(std::move(give_back_own)), timer_(loop, this) {}

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
    const bool own_is_kept = give_back_own_();
    if (much_is_kept || own_is_kept || links_ > 0) SetTimer();
  }

  EventLoop& loop_;
  const std::function<bool()> give_back_own_;
  DeadlineTimer<KeptMemoryTimer, &KeptMemoryTimer::OnTime> timer_;
  size_t links_ = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_KEPT_MEMORY_TIMER_H_
