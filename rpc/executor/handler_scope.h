// Marks that the calling thread is within a handler, and for which call: the calls that are made there follow it. A
// coroutine's handler is, wherever it goes on.
//
// Owner: a stack frame of the runtime, around the handler. Thread: its own.

#ifndef VERBENA_RPC_EXECUTOR_HANDLER_SCOPE_H_
#define VERBENA_RPC_EXECUTOR_HANDLER_SCOPE_H_

#include "rpc/coroutine/ambient.h"

namespace verbena {
class ServerContext;
}  // namespace verbena

namespace verbena::rpc {

class HandlerScope {
 public:
  explicit HandlerScope(const ServerContext* context) : scope_(context) {}

  // Of the handler that this thread is within; null: none, or one that has finished its call.
  static const ServerContext* current() {
    return static_cast<const ServerContext*>(coroutine::AmbientScope::current());
  }
  // The call is finished: a handler of it that goes on has no context any more.
  static void Forget(const ServerContext* context) { coroutine::AmbientScope::Forget(context); }

 private:
  const coroutine::AmbientScope scope_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_HANDLER_SCOPE_H_
