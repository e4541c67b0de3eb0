// Awaits several tasks at the same time, until all have finished.
//
//   auto [user, orders] = co_await verbena::WhenAll(FindUser(id), FindOrders(id));   // a tuple of both results
//
//   std::vector<verbena::Task<absl::Status>> shipments = …;
//   std::vector<absl::Status> shipped = co_await verbena::WhenAll(std::move(shipments));
//
// The tasks are started in order, each until it suspends. Results are in the order of the tasks; in a tuple, a task
// without result stands as std::monostate, and a vector of those gives nothing. No tasks at all: the awaiter goes on
// at once, with an empty tuple or vector.
//
// Owner: the awaiting coroutine; destroyed meanwhile, it takes all of the tasks along.
//
// Thread: tasks may finish on different threads. The awaiter goes on where the last of them has finished.
//
// Allocations: none for a tuple, one for a vector: that of the results.
//
// Errors: an exception that leaves a task comes out of the co_await, after all have finished: the first in the order of
// the tasks; other results are lost.

#ifndef VERBENA_RPC_COROUTINE_WHEN_ALL_H_
#define VERBENA_RPC_COROUTINE_WHEN_ALL_H_

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/task_promise.h"

namespace verbena {

namespace coroutine {

// Counts the tasks that have not finished, and the starting of them as one more: so the awaiter does not go on, and
// end, while tasks are still being started.
class WhenAllCounter : public TaskWaiter {
 public:
  explicit WhenAllCounter(size_t tasks) : pending_(tasks + 1) {}
  WhenAllCounter(const WhenAllCounter&) = delete;
  WhenAllCounter& operator=(const WhenAllCounter&) = delete;

  bool await_ready() const noexcept { return false; }

  std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<>) noexcept final {
    return IsLast() ? awaiting_ : nullptr;
  }

 protected:
  // Calls `start_all`, which starts each task with this as waiter. Returns whether the awaiter suspends; if so, this
  // may be gone.
  template <typename StartAll>
  bool StartAndSuspend(std::coroutine_handle<> awaiting, StartAll&& start_all) {
    awaiting_ = awaiting;
    start_all();
    return !IsLast();
  }

 private:
  bool IsLast() { return pending_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  std::coroutine_handle<> awaiting_;
  std::atomic<size_t> pending_;
};

template <typename... T>
class WhenAllAwaiter final : public WhenAllCounter {
 public:
  explicit WhenAllAwaiter(Task<T>... tasks) : WhenAllCounter(sizeof...(T)), tasks_(std::move(tasks)...) {}

  bool await_suspend(std::coroutine_handle<> awaiting) {
    return StartAndSuspend(
        awaiting, [this] { std::apply([this](Task<T>&... task) { (Resume(task.Begin(this)), ...); }, tasks_); });
  }
  std::tuple<TaskValue<T>...> await_resume() {
    return std::apply([](Task<T>&... task) { return std::tuple<TaskValue<T>...>{std::move(task).TakeValue()...}; },
                      tasks_);
  }

 private:
  std::tuple<Task<T>...> tasks_;
};

template <typename T>
class WhenAllOfVectorAwaiter final : public WhenAllCounter {
 public:
  using Values = std::conditional_t<std::is_void_v<T>, void, std::vector<TaskValue<T>>>;

  explicit WhenAllOfVectorAwaiter(std::vector<Task<T>> tasks)
      : WhenAllCounter(tasks.size()), tasks_(std::move(tasks)) {}

  bool await_suspend(std::coroutine_handle<> awaiting) {
    return StartAndSuspend(awaiting, [this] {
      for (Task<T>& task : tasks_) Resume(task.Begin(this));
    });
  }
  Values await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (Task<T>& task : tasks_) std::move(task).TakeValue();
    } else {
      Values values;
      values.reserve(tasks_.size());
      for (Task<T>& task : tasks_) values.push_back(std::move(task).TakeValue());
      return values;
    }
  }

 private:
  std::vector<Task<T>> tasks_;
};

}  // namespace coroutine

template <typename... T>
auto WhenAll(Task<T>... tasks) {
  return coroutine::Awaitable<coroutine::WhenAllAwaiter<T...>, Task<T>...>(std::move(tasks)...);
}

template <typename T>
auto WhenAll(std::vector<Task<T>> tasks) {
  return coroutine::Awaitable<coroutine::WhenAllOfVectorAwaiter<T>, std::vector<Task<T>>>(std::move(tasks));
}

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_WHEN_ALL_H_
