// Runs a task to its end from a thread that drives an event loop of its own: BlockOn.
//
//   absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create({});
//   absl::Status shipped = verbena::BlockOn(**loop, Ship(id));
//
// The calling thread drives the loop (EventLoop::RunUntil) until the task has finished: the task starts on the loop's
// thread, and everything else that is due on the loop runs as well. A task that hops to other threads may finish there.
//
// Owner: the call; the task is destroyed when it returns, finished or not.
//
// Thread: that which drives the loop, outside of RunUntil.
//
// Allocations: none of its own.
//
// Errors: the result of the task in the form of TaskOutcome, an exception as INTERNAL (task_outcome.h). The loop was
// stopped: CANCELLED, and so is the task (none of it may be on another thread then). Called by what the loop runs:
// FAILED_PRECONDITION, for the loop cannot run within itself, and the task is not started.

#ifndef VERBENA_RPC_COROUTINE_BLOCK_ON_H_
#define VERBENA_RPC_COROUTINE_BLOCK_ON_H_

#include <coroutine>
#include <utility>

#include "absl/status/status.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/task_outcome.h"
#include "rpc/coroutine/task_promise.h"
#include "transport/event_loop.h"

namespace verbena {

namespace coroutine {

// Says on the loop's thread that the task has finished, wherever it has.
class BlockedCaller final : public TaskWaiter {
 public:
  explicit BlockedCaller(transport::EventLoop* loop) : loop_(loop) {}

  std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<>) noexcept override {
    if (loop_->InLoopThread()) {
      has_finished_ = true;
    } else {
      loop_->Post([this] { has_finished_ = true; });
    }
    return nullptr;
  }
  bool has_finished() const { return has_finished_; }

 private:
  transport::EventLoop* const loop_;
  bool has_finished_ = false;  // Owned by the loop's thread.
};

}  // namespace coroutine

template <typename T>
TaskOutcome<T> BlockOn(transport::EventLoop& loop, Task<T> task) {
  if (loop.InLoopThread()) {
    return absl::FailedPreconditionError("BlockOn was called by what its own loop runs; await the task instead");
  }
  coroutine::BlockedCaller caller(&loop);
  std::coroutine_handle<> unstarted = task.Begin(&caller);
  loop.RunUntil([&] {
    // Within RunUntil, so that the task is on the loop's thread from the beginning, and the loop's clock is right.
    if (unstarted != nullptr) coroutine::Resume(std::exchange(unstarted, nullptr));
    return caller.has_finished();
  });
  if (!caller.has_finished()) {
    return absl::CancelledError("the event loop was stopped before the coroutine had finished");
  }
  return coroutine::TakeOutcome(std::move(task));
}

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_BLOCK_ON_H_
