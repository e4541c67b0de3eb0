// Marks that the calling thread is within a handler, and for which call: the calls that are made there follow it.
//
// Owner: a stack frame of the runtime, around the handler. Thread: its own.

#ifndef VERBENA_RPC_HANDLER_SCOPE_H_
#define VERBENA_RPC_HANDLER_SCOPE_H_

#include <utility>

namespace verbena {
class ServerContext;
}  // namespace verbena

namespace verbena::rpc {

class HandlerScope {
 public:
  explicit HandlerScope(const ServerContext* context) : context_(context), outer_(std::exchange(innermost_, this)) {}
  ~HandlerScope() { innermost_ = outer_; }
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;

  // Of the handler that this thread is within; null: none, or one that has finished its call.
  static const ServerContext* current() { return innermost_ == nullptr ? nullptr : innermost_->context_; }
  // The call is finished: a handler of it that goes on has no context any more.
  static void Forget(const ServerContext* context) {
    for (HandlerScope* scope = innermost_; scope != nullptr; scope = scope->outer_) {
      if (scope->context_ == context) scope->context_ = nullptr;
    }
  }

 private:
  static inline thread_local HandlerScope* innermost_ = nullptr;
  const ServerContext* context_;
  HandlerScope* const outer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_HANDLER_SCOPE_H_
