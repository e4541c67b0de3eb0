// Something that happens once, which coroutines of one loop await.
//
//   verbena::OneShotEvent connected(loop);
//   co_await connected.Wait();   // Any number of coroutines.
//   connected.Set();             // All of them go on, in the order in which they came.
//
// Who waits goes on in another turn of the loop, not within Set: so who sets it may be destroyed by those who go on,
// and may destroy the event right after Set.
//
// Owner: the user; outlived by the loop. A waiting coroutine that is destroyed waits no more; those who wait for an
// event that is destroyed unset are not resumed by it any more.
//
// Thread: the loop's. From another one: loop.Post([&] { connected.Set(); }).
//
// Allocations: none, but for each waiter, when it is set, what a timer costs the loop.

#ifndef VERBENA_RPC_COROUTINE_EVENT_H_
#define VERBENA_RPC_COROUTINE_EVENT_H_

#include <coroutine>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/timed_resume.h"
#include "rpc/coroutine/waiter_list.h"
#include "transport/event_loop.h"

namespace verbena {

class OneShotEvent;

namespace coroutine {

class EventAwaiter : public WaiterLink {
 public:
  explicit EventAwaiter(OneShotEvent* event);

  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> coroutine);
  void await_resume() const noexcept {}

  void Schedule() { resume_.Schedule(resume_.loop().Now(), coroutine_); }

 private:
  OneShotEvent* const event_;  // Not used once this is suspended.
  Suspended coroutine_;
  TimedResume resume_;
};

}  // namespace coroutine

class OneShotEvent {
 public:
  explicit OneShotEvent(transport::EventLoop& loop) : loop_(loop) {}
  OneShotEvent(const OneShotEvent&) = delete;
  OneShotEvent& operator=(const OneShotEvent&) = delete;

  // To be awaited: goes on when the event is set; at once, if it is.
  auto Wait() { return coroutine::Awaitable<coroutine::EventAwaiter, OneShotEvent*>(this); }

  // Again: nothing happens.
  void Set() {
    is_set_ = true;
    while (coroutine::EventAwaiter* waiter = waiters_.PopFront()) waiter->Schedule();
  }
  bool is_set() const { return is_set_; }

 private:
  friend class coroutine::EventAwaiter;

  transport::EventLoop& loop_;
  bool is_set_ = false;
  coroutine::WaiterList<coroutine::EventAwaiter> waiters_;
};

namespace coroutine {

inline EventAwaiter::EventAwaiter(OneShotEvent* event) : event_(event), resume_(&event->loop_) {}

inline bool EventAwaiter::await_ready() const { return event_->is_set(); }

inline void EventAwaiter::await_suspend(std::coroutine_handle<> coroutine) {
  coroutine_ = coroutine;
  event_->waiters_.PushBack(*this);
}

}  // namespace coroutine
}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_EVENT_H_
