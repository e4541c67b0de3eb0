#include "rpc/co_stream.h"

#include "rpc/message_stream.h"

namespace verbena::rpc {
namespace {

MessageStream::Done Begin(const std::shared_ptr<StreamOperation>& operation) {
  operation->begun = true;
  operation->completion.Reset();
  return [operation](absl::Status status) {
    operation->status = std::move(status);
    coroutine::Completion::Complete({operation, &operation->completion});
  };
}

}  // namespace

void BeginRead(const std::shared_ptr<StreamOperation>& operation, google::protobuf::MessageLite* into) {
  operation->stream->Read(into, &operation->attachment, Begin(operation));
}

void BeginAwaitingInitialMetadata(const std::shared_ptr<StreamOperation>& operation) {
  operation->stream->AwaitInitialMetadata(Begin(operation));
}

void BeginWrite(const std::shared_ptr<StreamOperation>& operation, const google::protobuf::MessageLite* message) {
  operation->stream->Write(message, std::move(operation->attachment), Begin(operation));
}

}  // namespace verbena::rpc
