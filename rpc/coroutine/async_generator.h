// A coroutine that gives values one after the other, and may await between them: AsyncGenerator<T>.
//
//   verbena::AsyncGenerator<Page> ReadPages(std::string name) {
//     for (int64_t offset = 0; …;) {
//       Page page = co_await ReadPage(name, offset);
//       …
//       co_yield std::move(page);
//     }
//   }
//
//   verbena::AsyncGenerator<Page> pages = ReadPages("a");
//   while (std::optional<Page> page = co_await pages.Next()) { … }
//
// A generator is lazy: its code runs only on behalf of a Next, up to the next co_yield, on the thread of whoever awaits
// that Next. After the last value Next gives std::nullopt, as often as it is asked. One Next at a time.
//
// Owner: who called the coroutine. Destroying it midway is safe, at a co_yield and while it awaits something, as with
// a Task ("Cancellation is destruction"); who awaits a Next of it at that moment is not resumed by it any more. So is
// destroying the coroutine that awaits the Next: the value, when it comes, is for the next Next.
//
// Thread: that of the coroutine that awaits Next.
//
// Allocations: one for the generator's frame, as a task's; none for a value.
//
// Errors: an exception that leaves the generator comes out of the co_await of Next; it was the last value.

#ifndef VERBENA_RPC_COROUTINE_ASYNC_GENERATOR_H_
#define VERBENA_RPC_COROUTINE_ASYNC_GENERATOR_H_

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/coroutine_frame.h"
#include "rpc/coroutine/resume.h"

namespace verbena {

template <typename T>
class AsyncGenerator;

namespace coroutine {

template <typename T>
class NextAwaiter;

template <typename T>
class GeneratorPromise : public FrameMemory {
 public:
  GeneratorPromise() = default;
  GeneratorPromise(const GeneratorPromise&) = delete;
  GeneratorPromise& operator=(const GeneratorPromise&) = delete;
  ~GeneratorPromise() {
    if (next_ != nullptr) next_->generator_ = nullptr;
  }

  AsyncGenerator<T> get_return_object() { return AsyncGenerator<T>(*this); }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() noexcept { return ProducerAwaiter(this); }

  template <std::convertible_to<T> Value = T>
  auto yield_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
    return ProducerAwaiter(this);
  }
  void return_void() const {}
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

 private:
  friend class NextAwaiter<T>;

  // Suspends the generator, having a value or at its end; who waits for that goes on.
  class ProducerAwaiter {
   public:
    explicit ProducerAwaiter(GeneratorPromise* promise) : promise_(promise) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> producer) const noexcept {
      promise_->is_running_ = false;
      if (promise_->next_ != nullptr) HandOver(producer, std::exchange(promise_->next_, nullptr)->consumer_);
    }
    void await_resume() const noexcept {}

   private:
    GeneratorPromise* const promise_;
  };

  std::coroutine_handle<GeneratorPromise> producer() {
    return std::coroutine_handle<GeneratorPromise>::from_promise(*this);
  }

  std::optional<T> value_;          // Given, and not taken.
  std::exception_ptr thrown_;       // Not taken.
  bool is_running_ = false;         // On behalf of a Next, or of one that was given up.
  NextAwaiter<T>* next_ = nullptr;  // Who waits; null: nobody.
};

template <typename T>
class NextAwaiter {
 public:
  explicit NextAwaiter(GeneratorPromise<T>* generator) : generator_(generator) {}
  NextAwaiter(const NextAwaiter&) = delete;
  NextAwaiter& operator=(const NextAwaiter&) = delete;
  ~NextAwaiter() {
    if (generator_ != nullptr && generator_->next_ == this) generator_->next_ = nullptr;
  }

  bool await_ready() const noexcept { return generator_->value_.has_value() || generator_->producer().done(); }
  void await_suspend(std::coroutine_handle<> consumer) noexcept {
    consumer_ = consumer;
    generator_->next_ = this;
    if (!std::exchange(generator_->is_running_, true)) HandOver(consumer, generator_->producer());
  }
  std::optional<T> await_resume() {
    GeneratorPromise<T>* const generator = std::exchange(generator_, nullptr);
    if (generator->thrown_ != nullptr) std::rethrow_exception(std::exchange(generator->thrown_, nullptr));
    return std::exchange(generator->value_, std::nullopt);
  }

 private:
  friend class GeneratorPromise<T>;

  GeneratorPromise<T>* generator_;  // Null: it was destroyed while this waited, or has answered.
  std::coroutine_handle<> consumer_;
};

}  // namespace coroutine

template <typename T>
class [[nodiscard]] AsyncGenerator {
 public:
  using promise_type = coroutine::GeneratorPromise<T>;

  // Move-only. What was moved from can be destroyed or assigned to.
  AsyncGenerator(AsyncGenerator&&) noexcept = default;
  AsyncGenerator& operator=(AsyncGenerator&&) noexcept = default;

  // To be awaited: std::optional<T>, the next value or, after the last, nothing.
  auto Next() {
    return coroutine::Awaitable<coroutine::NextAwaiter<T>, coroutine::GeneratorPromise<T>*>(&frame_.promise());
  }

 private:
  friend promise_type;
  explicit AsyncGenerator(promise_type& promise) : frame_(promise) {}

  coroutine::CoroutineFrame<promise_type> frame_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_ASYNC_GENERATOR_H_
