#include "rpc/channel.h"
#include "rpc/channel_core.h"
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
    stream->AwaitInitialMetadata([this](absl::Status status) {
      OnReadInitialMetadataDone(status.ok());
      Release();
    });
    BindStream(stream);
  });
}

// Reads are done that were started, and may have found out more than the call's end knew.
void ClientReactor::OnAllDone() { OnDone(EndForReader(std::move(status_), *stream())); }

}  // namespace verbena::rpc
