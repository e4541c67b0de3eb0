#include "rpc/unary_call.h"

#include <utility>

#include "rpc/channel.h"
#include "rpc/channel_core.h"

namespace verbena {
namespace {

rpc::UserCall Unary(absl::string_view method, ClientContext* context, const google::protobuf::MessageLite* request,
                    google::protobuf::MessageLite* reply, CallDone&& done) {
  return {.method = method, .context = context, .request = request, .reply = reply, .done = std::move(done)};
}

}  // namespace

absl::Status BlockingUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                               const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply) {
  return channel.core().Block(Unary(method, context, &request, reply, nullptr));
}

void CallbackUnaryCall(Channel& channel, absl::string_view method, ClientContext* context,
                       const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply,
                       CallDone&& done) {
  channel.core().Start(Unary(method, context, request, reply, std::move(done)));
}

}  // namespace verbena
