#include "codegen/testdata/unary_call_double.h"

namespace verbena {

absl::Status Channel::Call(absl::string_view called, ClientContext* with, const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* reply) {
  method = std::string(called);
  request_bytes = request.SerializeAsString();
  context = with;
  if (status.ok() && !reply->ParseFromString(reply_bytes)) return absl::InternalError("reply_bytes do not parse");
  return status;
}

absl::Status BlockingUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                               const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply) {
  channel.callback = false;
  return channel.Call(method, context, request, reply);
}

void CallbackUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                       const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply,
                       CallDone&& done) {
  channel.callback = true;
  done(channel.Call(method, context, *request, reply));
}

}  // namespace verbena
