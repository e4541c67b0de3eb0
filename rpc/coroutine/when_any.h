// Awaits several tasks at the same time, until one has finished; the others are destroyed.
//
//   verbena::Task<> Timeout(transport::EventLoop& loop) { co_await verbena::SleepFor(loop, absl::Seconds(1)); }
//
//   std::variant<Order, std::monostate> first = co_await verbena::WhenAny(FindOrder(id), Timeout(loop));
//   if (first.index() == 1) …  // Nobody found it in time.
//
//   std::vector<verbena::Task<Order>> replicas = …;
//   std::optional<verbena::FirstFinished<Order>> found = co_await verbena::WhenAny(std::move(replicas));
//
// The tasks are started in order, each until it suspends; if one finishes at that, those behind it are not started. The
// variant's index, and FirstFinished::index, say which task it was; a task without result stands as std::monostate. An
// empty vector has no first: std::nullopt, at once.
//
// Owner: the awaiting coroutine; destroyed meanwhile, it takes all of the tasks along.
//
// Thread: all tasks on one, for when the first has finished the others are destroyed, right there and before the
// awaiter goes on. None of them may be in the middle of its code then: see resume.h on who resumes.
//
// Allocations: none.
//
// Errors: if what the first task does is throw, that comes out of the co_await.

#ifndef VERBENA_RPC_COROUTINE_WHEN_ANY_H_
#define VERBENA_RPC_COROUTINE_WHEN_ANY_H_

#include <coroutine>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/task_promise.h"

namespace verbena {

// Of a vector of tasks: which was the first, and its result.
template <typename T>
struct FirstFinished {
  size_t index;
  coroutine::TaskValue<T> value;
};

namespace coroutine {

// Knows the first task by its frame.
class WhenAnyWaiter : public TaskWaiter {
 public:
  WhenAnyWaiter() = default;
  WhenAnyWaiter(const WhenAnyWaiter&) = delete;
  WhenAnyWaiter& operator=(const WhenAnyWaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> awaiting) {
    StartAll();
    awaiting_ = awaiting;
    if (first_ == nullptr) return !IsEmpty();
    DestroyOthers();
    return false;
  }

  std::coroutine_handle<> OnTaskFinished(std::coroutine_handle<> finished) noexcept final {
    if (first_ != nullptr) return nullptr;
    first_ = finished;
    if (awaiting_ == nullptr) return nullptr;
    DestroyOthers();
    return awaiting_;
  }

 protected:
  // Unless one has finished already.
  template <typename T>
  void Start(Task<T>& task) {
    if (first_ == nullptr) Resume(task.Begin(this));
  }
  template <typename T>
  bool IsFirst(const Task<T>& task) const {
    return task.IsFrame(first_);
  }
  template <typename T>
  void DestroyUnlessFirst(Task<T>& task) {
    if (!IsFirst(task)) const Task<T> destroyed = std::move(task);
  }

 private:
  virtual bool IsEmpty() const = 0;
  virtual void StartAll() = 0;       // Calls Start for each task.
  virtual void DestroyOthers() = 0;  // Calls DestroyUnlessFirst for each task.

  std::coroutine_handle<> awaiting_;  // Null: the tasks are being started, and none may be destroyed yet.
  std::coroutine_handle<> first_;     // Null: none has finished.
};

template <typename... T>
class WhenAnyAwaiter final : public WhenAnyWaiter {
 public:
  using Value = std::variant<TaskValue<T>...>;

  explicit WhenAnyAwaiter(Task<T>... tasks) : tasks_(std::move(tasks)...) {}

  Value await_resume() { return TakeFirst<0>(); }

 private:
  bool IsEmpty() const override { return false; }
  void StartAll() override {
    std::apply([this](Task<T>&... task) { (Start(task), ...); }, tasks_);
  }
  void DestroyOthers() override {
    std::apply([this](Task<T>&... task) { (DestroyUnlessFirst(task), ...); }, tasks_);
  }

  // The first task is this one or one behind it.
  template <size_t index>
  Value TakeFirst() {
    if constexpr (index + 1 < sizeof...(T)) {
      if (!IsFirst(std::get<index>(tasks_))) return TakeFirst<index + 1>();
    }
    return Value(std::in_place_index<index>, std::move(std::get<index>(tasks_)).TakeValue());
  }

  std::tuple<Task<T>...> tasks_;
};

template <typename T>
class WhenAnyOfVectorAwaiter final : public WhenAnyWaiter {
 public:
  explicit WhenAnyOfVectorAwaiter(std::vector<Task<T>> tasks) : tasks_(std::move(tasks)) {}

  std::optional<FirstFinished<T>> await_resume() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (IsFirst(tasks_[i])) return FirstFinished<T>{i, std::move(tasks_[i]).TakeValue()};
    }
    return std::nullopt;
  }

 private:
  bool IsEmpty() const override { return tasks_.empty(); }
  void StartAll() override {
    for (Task<T>& task : tasks_) Start(task);
  }
  void DestroyOthers() override {
    for (Task<T>& task : tasks_) DestroyUnlessFirst(task);
  }

  std::vector<Task<T>> tasks_;
};

}  // namespace coroutine

template <typename... T>
auto WhenAny(Task<T>... tasks) {
  static_assert(sizeof...(T) > 0, "of no tasks, none is the first");
  return coroutine::Awaitable<coroutine::WhenAnyAwaiter<T...>, Task<T>...>(std::move(tasks)...);
}

template <typename T>
auto WhenAny(std::vector<Task<T>> tasks) {
  return coroutine::Awaitable<coroutine::WhenAnyOfVectorAwaiter<T>, std::vector<Task<T>>>(std::move(tasks));
}

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_WHEN_ANY_H_
