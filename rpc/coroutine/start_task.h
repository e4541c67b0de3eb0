// Runs a task that no coroutine awaits: StartTask, and RunningTask, which owns it.
//
//   verbena::RunningTask shipping = verbena::StartTask(Ship(id), [](absl::Status status) { … });
//   …
//   shipping = {};               // Cancels it, or:
//   std::move(shipping).Detach();  // lets it go on by itself.
//
// The task starts in the call, on the caller's thread, and StartTask returns when it has suspended or finished. `done`
// gets its result, in the form of TaskOutcome, on the thread where the task has finished, after its frame has been
// destroyed: within StartTask, if the task never suspended. It is called once, or never if the task is cancelled. It
// may destroy the RunningTask; it must not throw.
//
// Owner: the RunningTask owns the task, and destroying it, or assigning to it, cancels (task.h, "Cancellation is
// destruction"): the frame is destroyed, then `done`. A detached task owns itself: it is destroyed when it has finished
// and never if nothing resumes it, so the loops that it awaits something of should outlive it.
//
// Thread: destroying a RunningTask whose task has not finished is for the thread that would resume the task. Detach,
// and destroying one whose task has finished, are for any.
//
// Allocations: one, for the task and `done` together, like a frame.
//
// Errors: an exception that leaves the task is INTERNAL, see task_outcome.h.

#ifndef VERBENA_RPC_COROUTINE_START_TASK_H_
#define VERBENA_RPC_COROUTINE_START_TASK_H_

#include <atomic>
#include <coroutine>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "base/block_cache.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/task_outcome.h"

namespace verbena {

namespace coroutine {

// Deletes itself when it is both finished and detached: whichever comes last, on whichever thread.
class StartedTask : public Cached {
 public:
  virtual ~StartedTask() = default;

  void Detach() {
    if (ArrivesSecond(Stage::kDetached)) delete this;
  }

 protected:
  // Nothing of this object may be used afterwards.
  void BecomeFinished() {
    if (ArrivesSecond(Stage::kFinished)) delete this;
  }

 private:
  enum class Stage {
    kRunning,   // A RunningTask owns this.
    kDetached,  // Deleted when the task finishes.
    kFinished,  // Deleted by the RunningTask, or when it is detached.
  };

  // Each of the two comes once; who finds that the other has been here need not say so any more.
  bool ArrivesSecond(Stage stage) {
    return stage_.load(std::memory_order_acquire) != Stage::kRunning ||
           stage_.exchange(stage, std::memory_order_acq_rel) != Stage::kRunning;
  }

  std::atomic<Stage> stage_ = Stage::kRunning;
};

template <typename T>
class StartedTaskOf final : public StartedTask, private TaskWaiter {
 public:
  using Done = absl::AnyInvocable<void(TaskOutcome<T>)>;

  StartedTaskOf(Task<T> task, Done done) : done_(std::move(done)), task_(std::move(task)) {}

  void Start(const void* on_behalf_of) { Resume({task_.Begin(this), on_behalf_of}); }

 private:
  std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<>) noexcept override {
    // What the frame holds, and `done`, may own this object's owner.
    Task<T> task = std::move(task_);
    Done done = std::move(done_);
    BecomeFinished();
    done(TakeOutcome(std::move(task)));
    return nullptr;
  }

  Done done_;
  Task<T> task_;  // Destroyed before `done_`.
};

}  // namespace coroutine

class [[nodiscard]] RunningTask {
 public:
  RunningTask() = default;  // Of no task.
  explicit RunningTask(std::unique_ptr<coroutine::StartedTask> started) : started_(std::move(started)) {}

  void Detach() && {
    if (started_ != nullptr) started_.release()->Detach();
  }

 private:
  std::unique_ptr<coroutine::StartedTask> started_;
};

namespace coroutine {

// StartTask, on behalf of one (ambient.h) who must outlive the task.
template <typename T>
RunningTask StartTaskFor(const void* whom, Task<T> task, typename StartedTaskOf<T>::Done done) {
  auto started = std::make_unique<StartedTaskOf<T>>(std::move(task), std::move(done));
  started->Start(whom);
  return RunningTask(std::move(started));
}

}  // namespace coroutine

template <typename T>
RunningTask StartTask(Task<T> task, typename coroutine::StartedTaskOf<T>::Done done) {
  return coroutine::StartTaskFor(nullptr, std::move(task), std::move(done));
}

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_START_TASK_H_
