#include "rpc/co_stream.h"

#include <utility>

#include "rpc/message_stream.h"

namespace verbena::rpc {
namespace {

void End(std::shared_ptr<StreamOperation> operation, absl::Status status) {
  operation->status = std::move(status);
  coroutine::Completion::CompleteOf(std::move(operation));
}

// What is called at the end is handed on a dozen times, for nothing if it is a mere pointer. It may be one here on the
// loop, where nothing of what is begun is dropped; a task from elsewhere is, with the loop.
MessageStream::Done Begin(const std::shared_ptr<StreamOperation>& operation) {
  operation->begun = true;
  operation->completion.Reset();
  if (!operation->stream->here()) {
    return [operation = operation](absl::Status status) mutable { End(std::move(operation), std::move(status)); };
  }
  operation->itself = operation;
  return [begun = operation.get()](absl::Status status) { End(std::move(begun->itself), std::move(status)); };
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
