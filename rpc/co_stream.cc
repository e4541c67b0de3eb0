#include "rpc/co_stream.h"

#include <utility>

#include "rpc/message_stream.h"

namespace verbena::rpc {

// What is called at the end is handed on a dozen times, for nothing if it is a mere pointer. It may be one here on the
// loop, where nothing of what is begun is dropped; a task from elsewhere is, with the loop.
MessageStream::Done StreamOperation::Begin() {
  begun_ = true;
  completion_.Reset();
  lent_ = stream_->here() && completion_.home();
  if (lent_) return [this](absl::Status status) { EndLent(std::move(status)); };
  return
      [operation = shared_from_this()](absl::Status status) mutable { End(std::move(operation), std::move(status)); };
}

void StreamOperation::End(std::shared_ptr<StreamOperation> operation, absl::Status status) {
  operation->status = std::move(status);
  coroutine::Completion::CompleteOf(std::move(operation), &StreamOperation::completion_);
}

void StreamOperation::EndLent(absl::Status ended) {
  lent_ = false;
  const std::shared_ptr<StreamOperation> itself = std::move(itself_);
  // Else the channel has left the loop meanwhile: this is the thread of who took it down, and nobody is at home.
  if (!completion_.home()) return End(shared_from_this(), std::move(ended));
  status = std::move(ended);
  completion_.CompleteAtHome();
}

void StreamOperation::LetGo(const std::shared_ptr<StreamOperation>& operation) {
  operation->completion_.Abandon();
  if (StreamAwaiter* const awaiter = std::exchange(operation->awaiter_, nullptr)) awaiter->Forget();
  if (operation->lent_) operation->itself_ = operation;
}

void StreamOperation::Read(google::protobuf::MessageLite* into) { stream_->Read(into, &attachment, Begin()); }

void StreamOperation::Write(const google::protobuf::MessageLite* message) {
  stream_->Write(message, std::move(attachment), Begin());
}

void StreamOperation::AwaitInitialMetadata() { stream_->AwaitInitialMetadata(Begin()); }

}  // namespace verbena::rpc
