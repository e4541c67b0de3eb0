#include "rpc/blocking/read_ahead.h"
#include "rpc/blocking/write_behind.h"
#include "rpc/blocking_stream.h"
#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/completion_waiter.h"
#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/stream_sending.h"

namespace verbena::rpc {

using google::protobuf::MessageLite;

BlockingClientStream::BlockingClientStream(std::shared_ptr<Channel> channel, const StreamingMethod& method,
                                           ClientContext* context, const MessageLite* request, MessageLite* reply)
    : channel_(std::move(channel)),
      kind_(method.kind),
      context_(context),
      request_(CopyOf(request)),
      finished_(std::make_shared<CompletionWaiter>()) {
  if (absl::Status checked = channel_->core().CheckMayBlock(); !checked.ok()) {
    finish_called_ = true;  // There is no call.
    finished_->Complete(std::move(checked));
    return;
  }
  UserCall call;
  call.method = method.name;
  call.kind = method.kind;
  call.context = context;
  call.request = request_.get();
  call.reply = reply;
  call.done = SharedCompletion(finished_);
  channel_->core().StartStreaming(std::move(call), [this](const auto& stream) { stream_ = stream; });
  if (stream_ == nullptr || channel_->core().HasCallersLoop()) return;
  reads_ = std::make_shared<ReadAhead>(stream_);
  writes_ = std::make_shared<WriteBehind>(stream_);
}

BlockingClientStream::~BlockingClientStream() {
  if (finish_called_) return;
  context_->TryCancel();
  channel_->core().Await(*finished_).IgnoreError();
}

// `operation` is started with the completion that is awaited.
absl::Status BlockingClientStream::Await(absl::FunctionRef<void(MessageStream&, Completion)> operation) {
  if (absl::Status checked = channel_->core().CheckMayBlock(); !checked.ok()) return checked;
  if (stream_ == nullptr) return finished_->Wait();
  const auto waiter = std::make_shared<CompletionWaiter>();
  operation(*stream_, SharedCompletion(waiter));
  return channel_->core().Await(*waiter);
}

bool BlockingClientStream::WaitForInitialMetadata() {
  return Await([](MessageStream& stream, Completion done) { stream.AwaitInitialMetadata(std::move(done)); }).ok();
}

bool BlockingClientStream::Read(MessageLite* message, absl::Cord* attachment) {
  if (reads_ != nullptr) return channel_->core().CheckMayBlock().ok() && reads_->Read(message, attachment);
  return Await([=](MessageStream& stream, Completion done) { stream.Read(message, attachment, std::move(done)); }).ok();
}

absl::Status BlockingClientStream::Write(const MessageLite& message, absl::Cord attachment) {
  if (writes_ != nullptr) {
    if (absl::Status checked = channel_->core().CheckMayBlock(); !checked.ok()) return checked;
    return writes_->Write(message, std::move(attachment));
  }
  return Await(
      [&](MessageStream& stream, Completion done) { stream.Write(&message, std::move(attachment), std::move(done)); });
}

void BlockingClientStream::WritesDone() {
  if (writes_ != nullptr) return writes_->EndWrites();
  if (stream_ != nullptr) stream_->EndWrites();
}

absl::Status BlockingClientStream::Finish() {
  if (absl::Status checked = channel_->core().CheckMayBlock(); !checked.ok()) return checked;
  if (ClientStreams(kind_)) WritesDone();
  finish_called_ = true;
  absl::Status status = channel_->core().Await(*finished_);
  return stream_ == nullptr ? status : EndForReader(std::move(status), *stream_);
}

}  // namespace verbena::rpc
