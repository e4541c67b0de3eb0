// A call as the user made it, on its way through a channel: to a connection and, where that could not do it, back.
//
// Owner: who has it. Thread: the channel's loop.

#ifndef VERBENA_RPC_USER_CALL_H_
#define VERBENA_RPC_USER_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/client_call_binding.h"
#include "rpc/core/certainty.h"
#include "rpc/core/method_kind.h"
#include "rpc/core/retry/retry_policy.h"
#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/unary_call.h"
#include "transport/run_logging.h"

namespace verbena::rpc {

class CallRouter;

struct UserCall {
  absl::string_view method;  // In static storage.
  ClientContext* context = nullptr;
  const google::protobuf::MessageLite* request = nullptr;  // Null: the client streams.
  google::protobuf::MessageLite* reply = nullptr;          // Null: the server streams.
  // Not null: the request is its caller's again as soon as the call is made, and whoever needs it then has a copy here.
  std::unique_ptr<const google::protobuf::MessageLite>* request_copy = nullptr;
  CallDone done = nullptr;
  MethodKind kind = MethodKind::kUnary;
  std::shared_ptr<MessageStream> stream = nullptr;  // Null: unary.

  absl::Time deadline = absl::InfiniteFuture();  // On the loop's clock; from when the loop has the call.
  CallRouter* router = nullptr;                  // Who is asked when an attempt ends; null: nobody, that is the end.
  uint64_t server = 0;                           // The router's: where the attempt was made.
  uint32_t attempts = 0;                         // The router's.
  uint32_t detours = 0;                          // The router's: to other servers, before one began it.
  Certainty certainty = Certainty::kNotSent;     // The router's: of what earlier attempts may have done.
  absl::Time wait_until = {};                    // The router's: how long it may be without a server.
  const RetryPolicy* retry = nullptr;            // The router's; null: none.

  // Of a call that does not leave at once, or may leave again. While it is being made.
  void KeepRequest() {
    if (request_copy == nullptr) return;
    *request_copy = CopyOf(request);
    request = std::exchange(request_copy, nullptr)->get();
  }
};

class CallRouter {
 public:
  virtual ~CallRouter() = default;
  // An attempt ended with `status`. True: the call has been taken and goes on elsewhere; false: that is its end.
  virtual bool OnAttemptEnded(UserCall& call, const absl::Status& status) = 0;
  // For who asks later.
  virtual std::shared_ptr<CallRouter> Share() = 0;
};

// What the server said with an attempt's end about the next one.
inline std::optional<RetryPushback> PushbackIn(ClientContext& context) {
  const auto said = ClientCallBinding::ResponseMetadataOf(context).trailing.Find(kRetryPushbackKey);
  return said.has_value() ? std::optional(ParseRetryPushback(*said)) : std::nullopt;
}

// The end of a call that nobody takes any further.
inline void FinishCall(UserCall&& call, absl::Status status, MessageStream::Unread unread) {
  ClientCallBinding::Unbind(*call.context);
  if (call.certainty > GetCertainty(status)) SetCertainty(&status, call.certainty);
  if (call.stream != nullptr) call.stream->End(unread);
  CallDone done = std::move(call.done);  // The call's memory may be another's before it returns.
  RunLogging("a call's completion", [&] { done(std::move(status)); });
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_USER_CALL_H_
