// A coroutine's frame, owned: destroyed with its handle, and with it whatever the coroutine holds and awaits.
//
// Owner: a Task, an AsyncGenerator. Thread: that of the coroutine; destroyed while the coroutine is suspended.
//
// Errors: std::logic_error, thrown where the coroutine is called, if its frame is of no use. gcc before 12.3 (PR
// 106188) puts the awaited conditions of a coroutine whose outermost block has no variable ahead of its frame's head,
// where every handle leads past them: resumed, it would run into an illegal instruction. Such a frame is told by its
// address, which is not one that memory was allocated at (up to 8 bytes of conditions: with more it may be).

#ifndef VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_
#define VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_

#include <coroutine>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace verbena::coroutine {

template <typename Promise>
class CoroutineFrame {
 public:
  explicit CoroutineFrame(Promise& promise) : handle_(std::coroutine_handle<Promise>::from_promise(promise)) {
    if (reinterpret_cast<uintptr_t>(handle_.address()) % __STDCPP_DEFAULT_NEW_ALIGNMENT__ != 0) ThrowMiscompiled();
  }
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
  [[noreturn]] static void ThrowMiscompiled() {
    throw std::logic_error(
        "a coroutine was miscompiled by gcc before 12.3: it awaits in the condition of an if, a loop or a switch, and "
        "has no variable in its outermost block; give what it awaits there a name first");
  }

  std::coroutine_handle<Promise> handle_;
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_
