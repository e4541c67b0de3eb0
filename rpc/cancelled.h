// The end of anybody's interest in a call, as something for its handler to await.
//
//   auto first = co_await verbena::WhenAny(Work(request), verbena::UntilCancelled(context));
//
// Goes on when ServerContext::IsCancelled becomes true, on the server's event loop; at once, if it is. It is the call's
// cancel call-back (ServerContext::SetCancelCallback): one of either at a time.
//
// Owner: the awaiting coroutine. Thread: the server's event loop, where it may be destroyed meanwhile. Allocations: the
// task's.

#ifndef VERBENA_RPC_CANCELLED_H_
#define VERBENA_RPC_CANCELLED_H_

#include <coroutine>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/resume.h"
#include "rpc/coroutine/task.h"
#include "rpc/server_context.h"

namespace verbena {

namespace rpc {

class CancelledAwaiter {
 public:
  explicit CancelledAwaiter(ServerContext* context) : context_(*context) {}
  CancelledAwaiter(const CancelledAwaiter&) = delete;
  CancelledAwaiter& operator=(const CancelledAwaiter&) = delete;
  ~CancelledAwaiter() {
    if (waits_) context_.SetCancelCallback(nullptr);
  }

  bool await_ready() const { return context_.IsCancelled(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waits_ = true;
    coroutine_ = coroutine;
    context_.SetCancelCallback([this] {
      waits_ = false;
      coroutine::Resume(coroutine_);
    });
  }
  void await_resume() const noexcept {}

 private:
  ServerContext& context_;
  coroutine::Suspended coroutine_;
  bool waits_ = false;
};

}  // namespace rpc

inline Task<void> UntilCancelled(ServerContext* context) {
  co_await coroutine::Awaitable<rpc::CancelledAwaiter, ServerContext*>(context);
}

}  // namespace verbena

#endif  // VERBENA_RPC_CANCELLED_H_
