#include "rpc/co_client_stream.h"

#include <utility>

#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/stream_sending.h"

namespace verbena::rpc {

using google::protobuf::MessageLite;

CoClientStream::CoClientStream(Channel* channel, const StreamingMethod& method, ClientContext* context,
                               const MessageLite* request, MessageLite* reply)
    : kind_(method.kind), user_context_(context), user_reply_(reply), call_(std::make_shared<CoStreamingCall>()) {
  call_->request = CopyOf(request);
  if (reply != nullptr) call_->reply.reset(reply->New());
  AdoptedContext::Adopt({call_, &call_->context}, *context);
  UserCall made;
  made.method = method.name;
  made.kind = method.kind;
  made.context = call_->context.context();
  made.request = call_->request.get();
  made.reply = call_->reply.get();
  made.done = TellEnd(call_);
  channel->core().StartStreaming(std::move(made), [this](const auto& stream) { call_->stream = stream; });
}

CoClientStream::~CoClientStream() {
  if (beginning_ != nullptr) StreamOperation::LetGo(beginning_);
  if (call_->completion.complete()) return;
  call_->completion.Abandon();
  call_->context.context()->TryCancel();
}

void CoClientStream::EndWrites() { call_->stream->EndWrites(); }

absl::Status CoClientStream::TakeEnd() {
  finished_ = true;
  call_->status = EndForReader(std::move(call_->status), *call_->stream);
  call_->context.Return(*user_context_);
  if (call_->status.ok() && user_reply_ != nullptr) Assign(*call_->reply, user_reply_);
  return std::move(call_->status);
}

}  // namespace verbena::rpc
