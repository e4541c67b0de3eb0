#include "rpc/co_stream.h"

#include <utility>

#include "rpc/message_stream.h"

namespace verbena::rpc {
namespace {

void End(std::shared_ptr<StreamOperation> operation, absl::Status status) {
  operation->status = std::move(status);
  coroutine::Completion::CompleteOf(std::move(operation));
}

void EndLent(StreamOperation& operation, absl::Status status) {
  operation.lent = false;
  const std::shared_ptr<StreamOperation> itself = std::move(operation.itself);
  // The channel may have left the loop meanwhile, and then this is whoever's thread.
  if (!operation.completion.home()) return End(operation.shared_from_this(), std::move(status));
  operation.status = std::move(status);
  operation.completion.CompleteAtHome();
}

// What is called at the end is handed on a dozen times, for nothing if it is a mere pointer. It may be one here on the
// loop, where nothing of what is begun is dropped; a task from elsewhere is, with the loop.
MessageStream::Done Begin(StreamOperation& operation) {
  operation.begun = true;
  operation.completion.Reset();
  operation.lent = operation.stream->here() && operation.completion.home();
  if (operation.lent) return [&operation](absl::Status status) { EndLent(operation, std::move(status)); };
  return [operation = operation.shared_from_this()](absl::Status status) mutable {
    End(std::move(operation), std::move(status));
  };
}

}  // namespace

void StreamOperation::LetGo(const std::shared_ptr<StreamOperation>& operation) {
  operation->completion.Abandon();
  if (StreamAwaiter* const awaiter = std::exchange(operation->awaiter, nullptr)) awaiter->Forget();
  if (operation->lent) operation->itself = operation;
}

void BeginRead(StreamOperation& operation, google::protobuf::MessageLite* into) {
  operation.stream->Read(into, &operation.attachment, Begin(operation));
}

void BeginAwaitingInitialMetadata(StreamOperation& operation) {
  operation.stream->AwaitInitialMetadata(Begin(operation));
}

void BeginWrite(StreamOperation& operation, const google::protobuf::MessageLite* message) {
  operation.stream->Write(message, std::move(operation.attachment), Begin(operation));
}

}  // namespace verbena::rpc
