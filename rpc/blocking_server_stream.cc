#include "rpc/blocking_stream.h"
#include "rpc/completion_waiter.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

bool BlockingRead(MessageStream& stream, google::protobuf::MessageLite* message) {
  const auto waiter = std::make_shared<CompletionWaiter>();
  stream.Read(message, SharedCompletion(waiter));
  return waiter->Wait().ok();
}

absl::Status BlockingWrite(MessageStream& stream, const google::protobuf::MessageLite& message) {
  const auto waiter = std::make_shared<CompletionWaiter>();
  stream.Write(&message, SharedCompletion(waiter));
  return waiter->Wait();
}

}  // namespace verbena::rpc
