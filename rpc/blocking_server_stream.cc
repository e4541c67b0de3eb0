#include "rpc/blocking_stream.h"
#include "rpc/completion_waiter.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

bool BlockingRead(MessageStream& stream, google::protobuf::MessageLite* message, absl::Cord* attachment) {
  const auto waiter = std::make_shared<CompletionWaiter>();
  stream.Read(message, attachment, SharedCompletion(waiter));
  return waiter->Wait().ok();
}

absl::Status BlockingWrite(MessageStream& stream, const google::protobuf::MessageLite& message, absl::Cord attachment) {
  const auto waiter = std::make_shared<CompletionWaiter>();
  stream.Write(&message, std::move(attachment), SharedCompletion(waiter));
  return waiter->Wait();
}

}  // namespace verbena::rpc
