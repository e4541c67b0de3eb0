// One timer of an event loop for an owner that waits for many things: it is called at the earliest of what it asked
// for, looks, and asks again.
//
// Owner: `Owner`, who may be destroyed when it is called. Thread: the loop's.

#ifndef VERBENA_TRANSPORT_DEADLINE_TIMER_H_
#define VERBENA_TRANSPORT_DEADLINE_TIMER_H_

#include "absl/time/time.h"
#include "transport/event_loop.h"

namespace verbena::transport {

template <typename Owner, void (Owner::*kOnTime)()>
class DeadlineTimer {
 public:
  // `loop` stays while a timer is set.
  DeadlineTimer(EventLoop* loop, Owner* owner) : loop_(*loop), owner_(*owner) {}
  ~DeadlineTimer() { Cancel(); }
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // The owner is called at `when` (steady clock), or before; InfiniteFuture asks for nothing.
  void SetBy(absl::Time when) {
    if (when >= due_) return;
    Cancel();
    due_ = when;
    id_ = loop_.AddTimer(when, [this] {
      Forget();
      (owner_.*kOnTime)();
    });
  }

  // When it is called at the latest; InfiniteFuture: not at all.
  absl::Time due() const { return due_; }

  void Cancel() {
    if (id_ != 0) loop_.CancelTimer(id_);
    Forget();
  }

 private:
  void Forget() {
    id_ = 0;
    due_ = absl::InfiniteFuture();
  }

  EventLoop& loop_;
  Owner& owner_;
  TimerId id_ = 0;  // 0: none is set.
  absl::Time due_ = absl::InfiniteFuture();
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEADLINE_TIMER_H_
