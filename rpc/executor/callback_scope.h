// Marks that the calling thread is within a call-back of the runtime: it is some event loop's thread and must not
// block, and what that loop owns may be touched at once.
//
// Owner: a call-back's stack frame. Thread: its own.

#ifndef VERBENA_RPC_EXECUTOR_CALLBACK_SCOPE_H_
#define VERBENA_RPC_EXECUTOR_CALLBACK_SCOPE_H_

#include <utility>

namespace verbena::rpc {

class CallbackScope {
 public:
  // `owner` says whose call-back it is; not null.
  explicit CallbackScope(const void* owner) : outer_(std::exchange(current_, owner)) {}
  ~CallbackScope() { current_ = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  // The innermost scope's owner; null: the thread is in no call-back.
  static const void* current() { return current_; }

 private:
  static inline thread_local const void* current_ = nullptr;
  const void* const outer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_CALLBACK_SCOPE_H_
