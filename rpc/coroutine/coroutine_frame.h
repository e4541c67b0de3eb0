// A coroutine's frame, owned: destroyed with its handle, and with it whatever the coroutine holds and awaits.
//
// Owner: a Task, an AsyncGenerator. Thread: that of the coroutine; destroyed while the coroutine is suspended.

#ifndef VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_
#define VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_

#include <coroutine>
#include <utility>

namespace verbena::coroutine {

template <typename Promise>
class CoroutineFrame {
 public:
  explicit CoroutineFrame(Promise& promise) : handle_(std::coroutine_handle<Promise>::from_promise(promise)) {}
  CoroutineFrame(CoroutineFrame&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  CoroutineFrame& operator=(CoroutineFrame&& from) noexcept {
    CoroutineFrame destroyed(std::move(*this));
    handle_ = std::exchange(from.handle_, nullptr);
    return *this;
  }
  ~CoroutineFrame() {
    if (handle_ != nullptr) handle_.destroy();
  }

  std::coroutine_handle<Promise> handle() const { return handle_; }  // Null: moved from.
  Promise& promise() const { return handle_.promise(); }             // Not moved from.

 private:
  std::coroutine_handle<Promise> handle_;
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_
