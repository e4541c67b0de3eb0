// A coroutine's frame, owned: destroyed with its handle, and with it whatever the coroutine holds and awaits.
//
// Owner: a Task, an AsyncGenerator. Thread: that of the coroutine; destroyed while the coroutine is suspended.
//
// Errors: std::logic_error, thrown where the coroutine is called, if its frame is of no use. gcc before 12.3 (PR
// 106188) puts the awaited conditions of a coroutine whose outermost block has no variable ahead of its frame's head,
// where every handle leads past them: resumed, it would run into an illegal instruction, or do nothing. Such a frame is
// told by its address, which is not the one that memory was allocated at for it.

#ifndef VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_
#define VERBENA_RPC_COROUTINE_COROUTINE_FRAME_H_

#include <coroutine>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/block_cache.h"

namespace verbena::coroutine {

// To be a base of the promise, whose operator new a frame's memory comes from: knows where that begins.
class FrameMemory {
 public:
  static void* operator new(size_t bytes) {
    void* const memory = BlockCache::Allocate(bytes);
    newest_begin_ = static_cast<std::byte*>(memory);
    newest_end_ = newest_begin_ + bytes;
    return memory;
  }
  static void operator delete(void* memory, size_t bytes) noexcept { BlockCache::Free(memory, bytes); }

 protected:
  ~FrameMemory() = default;

 private:
  template <typename Promise>
  friend class CoroutineFrame;

  // This thread's newest frame begins ahead of `address`. Of another frame false: one is older if to copy its
  // parameters made coroutines.
  static bool NewestBeginsAheadOf(void* address) {
    return std::less<void*>()(newest_begin_, address) && std::less<void*>()(address, newest_end_);
  }

  static constinit inline thread_local std::byte* newest_begin_ = nullptr;
  static constinit inline thread_local std::byte* newest_end_ = nullptr;
};

template <typename Promise>
class CoroutineFrame {
 public:
  explicit CoroutineFrame(Promise& promise) : handle_(std::coroutine_handle<Promise>::from_promise(promise)) {
    if (FrameMemory::NewestBeginsAheadOf(handle_.address())) ThrowMiscompiled();
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
