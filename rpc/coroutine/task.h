// A coroutine that computes one value: Task<T>. T is any type that can be moved, or void; not a reference.
//
//   verbena::Task<absl::StatusOr<Order>> FindOrder(int64_t id);
//
//   verbena::Task<absl::Status> Ship(int64_t id) {
//     absl::StatusOr<Order> order = co_await FindOrder(id);
//     if (!order.ok()) co_return order.status();
//     …
//     co_return absl::OkStatus();
//   }
//
// A task is lazy: calling Ship makes a frame and runs nothing. It starts when it is awaited, on the awaiter's thread,
// and the awaiter goes on when it has finished, on the thread where it finished. Who is no coroutine starts it with
// StartTask or BlockOn. Handing over between the two takes no stack (resume.h): a million awaits, in a row or
// one within the other, need no more of it than one.
//
// Owner: who called the coroutine, and from co_await on the awaiting coroutine. *Cancellation is destruction*:
// destroying a Task that has not finished destroys its frame, and with it its variables and whatever it awaits at that
// moment: timers are cancelled, waiters unlinked, nothing is resumed later. No code of the coroutine runs but
// destructors. It must be suspended then: a task does not destroy itself, nor what awaits it. Destruction, unlike
// finishing, goes one within the other: it takes some hundred bytes of stack for each task that awaits another.
//
// Thread: whichever resumes it, one at a time. A task is destroyed on the thread that would resume it next, or when
// nothing can resume it any more.
//
// Allocations: one for each frame, made by the call of the coroutine, mostly of what the thread kept of former ones
// (base/block_cache.h); none for starting, awaiting, finishing.
//
// Errors: an exception that leaves the coroutine comes out of the co_await.
//
// What the frame holds are copies of the coroutine's parameters: what a reference or a view refers to must live until
// the task has finished. So must the lambda, if it is one that captures.
//
// gcc 12 miscompiles four things, whatever is awaited: co_await anywhere in `a ? b : c` of objects with destructors;
// in the braces of an aggregate or of an initializer list; behind && or || in a loop's condition, where it is awaited
// also if it is not reached (`while (more && co_await F())` may wait for ever); and, before 12.3, in the condition of
// an if, a loop or a switch of a coroutine whose outermost block has no variable. Give the result a name first. Calling
// a coroutine of the last kind throws std::logic_error, which says so.

#ifndef VERBENA_RPC_COROUTINE_TASK_H_
#define VERBENA_RPC_COROUTINE_TASK_H_

#include <cassert>
#include <coroutine>
#include <type_traits>
#include <utility>

#include "rpc/coroutine/coroutine_frame.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task_promise.h"

namespace verbena {

namespace coroutine {
template <typename T>
class TaskAwaiter;
}  // namespace coroutine

template <typename T = void>
class [[nodiscard]] Task {
  static_assert(!std::is_reference_v<T>, "a task's result is a value; return a pointer");

 public:
  using promise_type = coroutine::TaskPromise<T>;

  // Move-only. What was moved from can be destroyed or assigned to.
  Task(Task&&) noexcept = default;
  Task& operator=(Task&&) noexcept = default;

  // co_await MakeTask(), or co_await std::move(task): once, and the frame is gone when the awaiter goes on.
  coroutine::TaskAwaiter<T> operator co_await() &&;
  void operator co_await() & = delete;

  // For what awaits tasks, as WhenAll does.

  // Has the task tell `waiter`, which outlives it, and returns it for starting: by Resume or HandOver. Once.
  std::coroutine_handle<> Begin(coroutine::TaskWaiter* waiter) {
    frame_.promise().set_waiter(waiter);
    return frame_.handle();
  }
  bool IsFrame(std::coroutine_handle<> frame) const { return frame_.handle() == frame; }
  // Destroys the frame of a task that has finished, and returns its result or throws what it threw.
  coroutine::TaskValue<T> TakeValue() && {
    Task finished = std::move(*this);
    assert(finished.frame_.handle().done());
    return finished.frame_.promise().TakeValue();
  }

 private:
  friend class coroutine::TaskPromiseWithResult<T>;
  explicit Task(promise_type& promise) : frame_(promise) {}

  coroutine::CoroutineFrame<promise_type> frame_;
};

namespace coroutine {

template <typename T>
Task<T> TaskPromiseWithResult<T>::get_return_object() {
  return Task<T>(static_cast<TaskPromise<T>&>(*this));
}

template <typename T>
class TaskAwaiter final : public TaskWaiter {
 public:
  explicit TaskAwaiter(Task<T> task) : task_(std::move(task)) {}
  TaskAwaiter(const TaskAwaiter&) = delete;
  TaskAwaiter& operator=(const TaskAwaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    awaiting_ = awaiting;
    HandOver(awaiting, task_.Begin(this));
  }
  T await_resume() { return static_cast<T>(std::move(task_).TakeValue()); }

  std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<>) noexcept override { return awaiting_; }

 private:
  Task<T> task_;
  std::coroutine_handle<> awaiting_;
};

}  // namespace coroutine

template <typename T>
coroutine::TaskAwaiter<T> Task<T>::operator co_await() && {
  return coroutine::TaskAwaiter<T>(std::move(*this));
}

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_TASK_H_
