// What generated stubs call: one unary call on a channel, in its two forms.

#ifndef VERBENA_RPC_UNARY_CALL_H_
#define VERBENA_RPC_UNARY_CALL_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"

namespace verbena {

class Channel;
class ClientContext;

// A call's completion. Runs exactly once, on the channel's event loop, and never within the function that makes the
// call; it must not block. What it throws is a line in the log.
using CallDone = absl::AnyInvocable<void(absl::Status)>;

// `method` is "package.Service/Method" in static storage. context, request and reply must live until the call is
// complete.
absl::Status BlockingUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                               const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply);
void CallbackUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                       const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply,
                       CallDone&& done);

}  // namespace verbena

#endif  // VERBENA_RPC_UNARY_CALL_H_
