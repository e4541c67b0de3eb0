// Resumes a coroutine from an event loop's timer, unless destroyed before: what awaitables are made of that wait on the
// loop's own thread.
//
// Owner: an awaiter. The loop outlives it. Thread: the loop's. Allocates nothing but what the timer costs.

#ifndef VERBENA_RPC_COROUTINE_TIMED_RESUME_H_
#define VERBENA_RPC_COROUTINE_TIMED_RESUME_H_

#include "absl/time/time.h"
#include "rpc/coroutine/resume.h"
#include "transport/event_loop.h"

namespace verbena::coroutine {

class TimedResume {
 public:
  explicit TimedResume(transport::EventLoop* loop) : loop_(loop) {}
  TimedResume(const TimedResume&) = delete;
  TimedResume& operator=(const TimedResume&) = delete;
  ~TimedResume() {
    if (timer_ != 0) loop_->CancelTimer(timer_);
  }

  // Resumes `coroutine` at or after `when` (the loop's clock), in order of scheduling where times are the same. Never
  // within this call. Once.
  void Schedule(absl::Time when, Suspended coroutine) {
    coroutine_ = coroutine;
    timer_ = loop_->AddTimer(when, [this] {
      timer_ = 0;
      Resume(coroutine_);
    });
  }

  transport::EventLoop& loop() const { return *loop_; }

 private:
  transport::EventLoop* const loop_;
  Suspended coroutine_;
  transport::TimerId timer_ = 0;  // 0: not scheduled, or resumed.
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_TIMED_RESUME_H_
