#include "absl/strings/str_cat.h"
#include "rpc/message_stream.h"
#include "rpc/reactors.h"

namespace verbena::rpc {

void ServerReactor::Bind(std::shared_ptr<MessageStream> stream, Responder responder) {
  BindStream(std::move(stream));
  std::unique_ptr<absl::Status> finished;
  {
    const std::lock_guard lock(finish_mu_);
    finished = std::move(finished_);
    if (finished == nullptr) responder_ = std::move(responder);
  }
  if (finished == nullptr) return;
  responder(*std::move(finished));
  OnEndKnown();
}

void ServerReactor::Finish(absl::Status status) {
  Responder responder;
  {
    const std::lock_guard lock(finish_mu_);
    if (responder_ == nullptr) {
      finished_ = std::make_unique<absl::Status>(std::move(status));
      return;
    }
    responder = std::exchange(responder_, nullptr);
  }
  responder(std::move(status));
  OnEndKnown();
}

void BindServerReactor(ServerReactor* reactor, absl::string_view method, std::shared_ptr<MessageStream> stream,
                       Responder responder) {
  if (reactor != nullptr) return reactor->Bind(std::move(stream), std::move(responder));
  responder(absl::UnimplementedError(absl::StrCat(method, " is not implemented by this server")));
}

}  // namespace verbena::rpc
