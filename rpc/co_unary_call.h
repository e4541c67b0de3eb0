// A unary call as something to be awaited: what generated stubs return from stub.co().
//
//   absl::Status status = co_await stub.co()->SayHello(&context, request, &reply);
//
// The call is made when it is awaited; the coroutine goes on on the event loop that it was on, whatever loops the
// channel has (on a thread that runs no loop: on the channel's, or at once if the call has ended by then).
//
// Owner: the awaiting coroutine. Destroyed meanwhile, it cancels the call and lets go of context and reply at once:
// neither is touched any more. The request is the caller's again as soon as the coroutine is suspended. The reply, but
// for one on an arena, is empty until it goes on: what it held is with the call, whose reply is made in its memory. It
// comes back from a call that failed, unless that had a response which was no reply, or another attempt.
//
// Allocations: one, like a frame, for all that the call needs where its caller is gone. The request is copied unless it
// leaves whole at once, from the channel's own loop, and cannot have to leave again (retries, hedging, several
// servers).

#ifndef VERBENA_RPC_CO_UNARY_CALL_H_
#define VERBENA_RPC_CO_UNARY_CALL_H_

#include <coroutine>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/block_cache.h"
#include "google/protobuf/message_lite.h"
#include "rpc/co_call_end.h"
#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/completion.h"

namespace verbena {

class Channel;

namespace rpc {

// What lives as long as the call.
struct CoCall : CoCallEnd {
  explicit CoCall(google::protobuf::MessageLite* of_reply) : reply(of_reply) {}

  std::unique_ptr<const google::protobuf::MessageLite> request_copy;  // See UserCall.
  google::protobuf::MessageLite* const reply;                         // The derived's.
};

template <typename Reply>
struct CoCallOf : CoCall {
  CoCallOf() : CoCall(&own_reply) {}

  Reply own_reply;
};

void StartCoCall(Channel& channel, absl::string_view method, ClientContext& user,
                 const google::protobuf::MessageLite& request, std::shared_ptr<CoCall> call);

template <typename Reply>
class CoUnaryAwaiter {
 public:
  CoUnaryAwaiter(Channel* channel, absl::string_view method, ClientContext* context,
                 const google::protobuf::MessageLite* request, Reply* reply)
      : channel_(channel), method_(method), context_(context), request_(request), reply_(reply) {}
  CoUnaryAwaiter(const CoUnaryAwaiter&) = delete;
  CoUnaryAwaiter& operator=(const CoUnaryAwaiter&) = delete;
  ~CoUnaryAwaiter() {
    if (call_ == nullptr) return;
    call_->completion.Abandon();
    call_->context.context()->TryCancel();
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    call_ = MakeSharedCached<CoCallOf<Reply>>();
    lends_reply_ = reply_->GetArena() == nullptr;
    if (lends_reply_) call_->own_reply.Swap(reply_);
    StartCoCall(*channel_, method_, *context_, *request_, call_);
    return call_->completion.Suspend(coroutine);
  }
  absl::Status await_resume() {
    const std::shared_ptr<CoCallOf<Reply>> call = std::exchange(call_, nullptr);
    if (lends_reply_) {
      reply_->Swap(&call->own_reply);
    } else if (call->status.ok()) {
      *reply_ = call->own_reply;
    }
    call->context.Return(*context_);
    return std::move(call->status);
  }

 private:
  Channel* const channel_;
  const absl::string_view method_;
  ClientContext* const context_;
  const google::protobuf::MessageLite* const request_;
  Reply* const reply_;
  bool lends_reply_ = false;               // One on an arena cannot give away its memory.
  std::shared_ptr<CoCallOf<Reply>> call_;  // Null: not made, or complete.
};

}  // namespace rpc

template <typename Request, typename Reply>
using CoUnaryCall = coroutine::Awaitable<rpc::CoUnaryAwaiter<Reply>, Channel*, absl::string_view, ClientContext*,
                                         const Request*, Reply*>;

}  // namespace verbena

#endif  // VERBENA_RPC_CO_UNARY_CALL_H_
