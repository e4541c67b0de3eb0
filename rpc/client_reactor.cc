#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/core/certainty.h"
#include "rpc/reactors.h"
#include "rpc/stream_sending.h"

namespace verbena::rpc {

void ClientReactor::Bind(Channel* channel, const StreamingMethod& method, ClientContext* context,
                         const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply) {
  channel_ = channel;
  method_ = method;
  context_ = context;
  request_ = request;
  reply_ = reply;
}

void ClientReactor::StartCall() {
  UserCall call;
  call.method = method_.name;
  call.kind = method_.kind;
  call.context = context_;
  call.request = request_;
  call.reply = reply_;
  call.done = [this](absl::Status status) {
    status_ = std::move(status);
    OnEndKnown();
  };
  // Before the call can end, and this with it.
  channel_->core().StartStreaming(std::move(call), [this](const auto& stream) {
    Hold();
    stream->AwaitInitialMetadata(
        [this](absl::Status status) { React([&] { OnReadInitialMetadataDone(status.ok()); }); });
    BindStream(stream);
  });
}

void ClientReactor::OnThrown(absl::Status thrown) {
  thrown_.Update(std::move(thrown));
  context_->TryCancel();
}

// Reads are done that were started, and may have found out more than the call's end knew.
void ClientReactor::OnAllDone() {
  const absl::Status end = EndForReader(std::move(status_), *stream());
  if (thrown_.ok()) return OnDone(end);
  SetCertainty(&thrown_, GetCertainty(end));
  OnDone(std::move(thrown_));
}

}  // namespace verbena::rpc
