// What a coroutine awaits of an event loop: to be on its thread, a time, another turn.
//
//   co_await verbena::ResumeOn(loop);                        // From here on this is the loop's thread.
//   co_await verbena::SleepFor(loop, absl::Milliseconds(5));
//   co_await verbena::Yield(loop);                           // Others first: a long computation in pieces.
//
// Owner: the awaiting coroutine. Destroyed meanwhile, it is not resumed: the timer is cancelled, the posted task does
// nothing.
//
// Thread: ResumeOn may be awaited on any, the others on the loop's own (or, for a loop that a user drives, by him who
// drives it). The loop outlives who sleeps on it. Who hops with ResumeOn may be destroyed on any thread until the loop
// comes to the posted task, and when the loop is stopped or gone; but from that moment on he runs on the loop's thread:
// without knowing better, destroy him there.
//
// Allocations: none but what AddTimer and Post cost the loop; ResumeOn one if it hops.

#ifndef VERBENA_RPC_COROUTINE_LOOP_AWAITABLES_H_
#define VERBENA_RPC_COROUTINE_LOOP_AWAITABLES_H_

#include <atomic>
#include <coroutine>
#include <memory>

#include "absl/time/time.h"
#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/timed_resume.h"
#include "transport/event_loop.h"

namespace verbena {

namespace coroutine {

class ResumeOnAwaiter {
 public:
  explicit ResumeOnAwaiter(transport::EventLoop* loop) : loop_(loop) {}
  ResumeOnAwaiter(const ResumeOnAwaiter&) = delete;
  ResumeOnAwaiter& operator=(const ResumeOnAwaiter&) = delete;
  ~ResumeOnAwaiter() {
    if (hop_ != nullptr) hop_->waits.exchange(false, std::memory_order_acq_rel);
  }

  bool await_ready() const { return loop_->InLoopThread(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    hop_ = std::make_shared<Hop>(coroutine);
    // When Post returns, the coroutine may have gone on over there, and this be gone.
    loop_->Post([hop = hop_] {
      if (hop->waits.exchange(false, std::memory_order_acq_rel)) Resume(hop->coroutine);
    });
  }
  void await_resume() const noexcept {}

 private:
  struct Hop {
    explicit Hop(Suspended of) : coroutine(of) {}

    const Suspended coroutine;
    std::atomic<bool> waits = true;  // False: it has arrived, or was destroyed.
  };

  transport::EventLoop* const loop_;
  std::shared_ptr<Hop> hop_;  // With the posted task.
};

class SleepAwaiter {
 public:
  SleepAwaiter(transport::EventLoop* loop, absl::Time when) : when_(when), resume_(loop) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { resume_.Schedule(when_, coroutine); }
  void await_resume() const noexcept {}

 private:
  const absl::Time when_;
  TimedResume resume_;
};

}  // namespace coroutine

// Goes on on the loop's thread: at once if that is this one, and else after what was posted to the loop before.
inline auto ResumeOn(transport::EventLoop& loop) {
  return coroutine::Awaitable<coroutine::ResumeOnAwaiter, transport::EventLoop*>(&loop);
}

// Goes on at or after `when`, on the loop's steady clock (EventLoop::Now); if that has passed, in another turn of the
// loop.
inline auto SleepUntil(transport::EventLoop& loop, absl::Time when) {
  return coroutine::Awaitable<coroutine::SleepAwaiter, transport::EventLoop*, absl::Time>(&loop, when);
}

// Counted from EventLoop::Now: from the beginning of the loop's turn or, outside of RunUntil, of its last one.
inline auto SleepFor(transport::EventLoop& loop, absl::Duration duration) {
  return SleepUntil(loop, loop.Now() + duration);
}

// Goes on in another turn of the loop, when it has run what was posted and polled its sources.
inline auto Yield(transport::EventLoop& loop) { return SleepUntil(loop, loop.Now()); }

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_LOOP_AWAITABLES_H_
