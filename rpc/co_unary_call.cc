#include "rpc/co_unary_call.h"

#include "rpc/channel.h"
#include "rpc/channel_core.h"

namespace verbena::rpc {

void StartCoCall(Channel& channel, absl::string_view method, ClientContext& user,
                 const google::protobuf::MessageLite& request, std::shared_ptr<CoCall> call) {
  AdoptedContext::Adopt({call, &call->context}, user);
  UserCall made;
  made.method = method;
  made.context = call->context.context();
  made.request = &request;
  made.request_copy = &call->request_copy;
  made.reply = call->reply;
  made.done = TellEnd(std::move(call));
  channel.core().Start(std::move(made));
}

}  // namespace verbena::rpc
