#include "rpc/attachment/attachment_reader.h"

#include "absl/status/status.h"
#include "rpc/attachment/arriving_attachment.h"
#include "rpc/completion_waiter.h"
#include "rpc/executor/callback_scope.h"
#include "transport/event_loop.h"

namespace verbena {
namespace {

absl::Status AnotherRead() { return absl::FailedPreconditionError("another read of this attachment is under way"); }

}  // namespace

AttachmentReader::AttachmentReader(std::shared_ptr<rpc::ArrivingAttachment> attachment)
    : attachment_(std::move(attachment)) {}

uint64_t AttachmentReader::size() const { return attachment_->size(); }

absl::StatusOr<absl::Cord> AttachmentReader::Read() {
  if (rpc::CallbackScope::current() != nullptr || transport::EventLoop::OfThisThread() != nullptr) {
    return absl::FailedPreconditionError(
        "a blocking read of an attachment on the event loop's thread would stop the loop that it waits for: use Read "
        "with a callback, or CoRead");
  }
  const auto waiter = std::make_shared<rpc::CompletionWaiter>();
  auto wake = [done = rpc::SharedCompletion(waiter)]() mutable { done(absl::OkStatus()); };
  if (!attachment_->Await(std::move(wake))) return AnotherRead();
  waiter->Wait().IgnoreError();  // Dropped, the waker says so; and so does what is taken.
  return attachment_->Take();
}

void AttachmentReader::Read(Done done) {
  const auto shared = std::make_shared<Done>(std::move(done));
  auto wake = [shared, attachment = attachment_] { (*shared)(attachment->Take()); };
  if (!attachment_->Await(std::move(wake))) (*shared)(AnotherRead());
}

namespace rpc {

PartAwaiter::~PartAwaiter() {
  if (completion_ == nullptr) return;
  completion_->Abandon();
  attachment_->StopAwaiting();
}

bool PartAwaiter::await_ready() const { return attachment_->readable(); }

bool PartAwaiter::await_suspend(std::coroutine_handle<> coroutine) {
  auto completion = std::make_shared<coroutine::Completion>();
  refused_ = !attachment_->Await([completion] { coroutine::Completion::Complete(completion); });
  if (refused_) return false;
  completion_ = completion;
  return completion->Suspend(coroutine);
}

absl::StatusOr<absl::Cord> PartAwaiter::await_resume() {
  completion_ = nullptr;
  return refused_ ? AnotherRead() : attachment_->Take();
}

}  // namespace rpc
}  // namespace verbena
