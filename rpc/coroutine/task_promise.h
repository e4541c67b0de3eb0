// The inside of a Task: what its frame holds beside the coroutine's own variables, and who is told that it has
// finished. See task.h for what a task is.
//
// Owner: the task's frame. Thread: that which the task runs on.

#ifndef VERBENA_RPC_COROUTINE_TASK_PROMISE_H_
#define VERBENA_RPC_COROUTINE_TASK_PROMISE_H_

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "rpc/coroutine/coroutine_frame.h"
#include "rpc/coroutine/resume.h"

namespace verbena {

template <typename T>
class Task;

namespace coroutine {

// A task's result as a value: nothing is a value, too.
template <typename T>
using TaskValue = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Who waits for a task: a coroutine, what counts several tasks, or what a task without awaiter ends in.
class TaskWaiter {
 public:
  // The task whose frame is `finished` has its result, and runs no more: its frame may be destroyed in here. Returns
  // who goes on now; null: nobody. Called once for each task.
  virtual std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<> finished) noexcept = 0;

 protected:
  ~TaskWaiter() = default;
};

// What does not depend on the type of the result.
class TaskPromiseBase : public FrameMemory {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() const noexcept { return FinalAwaiter(waiter_); }

  void set_waiter(TaskWaiter* waiter) { waiter_ = waiter; }

 private:
  class FinalAwaiter {
   public:
    explicit FinalAwaiter(TaskWaiter* waiter) : waiter_(waiter) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> finished) const noexcept {
      const std::coroutine_handle<> next = waiter_->OnTaskFinished(finished);
      if (next != nullptr) HandOver(finished, next);
    }
    void await_resume() const noexcept {}

   private:
    TaskWaiter* const waiter_;
  };

  TaskWaiter* waiter_ = nullptr;  // Set before the task is started.
};

// What a task with a value and one without have in common.
template <typename T>
class TaskPromiseWithResult : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  void unhandled_exception() noexcept { result_.template emplace<kThrown>(std::current_exception()); }

  // Of a finished task, once: its value, or throws what it threw.
  TaskValue<T> TakeValue() {
    if (result_.index() == kThrown) std::rethrow_exception(std::get<kThrown>(std::move(result_)));
    return std::get<kValue>(std::move(result_));
  }

 protected:
  static constexpr size_t kValue = 1;
  static constexpr size_t kThrown = 2;

  std::variant<std::monostate, TaskValue<T>, std::exception_ptr> result_;
};

template <typename T>
class TaskPromise final : public TaskPromiseWithResult<T> {
 public:
  template <std::convertible_to<T> Value = T>
  void return_value(Value&& value) {
    this->result_.template emplace<TaskPromise::kValue>(std::forward<Value>(value));
  }
};

template <>
class TaskPromise<void> final : public TaskPromiseWithResult<void> {
 public:
  void return_void() { result_.emplace<kValue>(); }
};

}  // namespace coroutine
}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_TASK_PROMISE_H_
