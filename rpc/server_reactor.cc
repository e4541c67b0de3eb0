#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rpc/message_stream.h"
#include "rpc/reactors.h"
#include "transport/log.h"

namespace verbena::rpc {

void ServerReactor::Bind(std::shared_ptr<MessageStream> stream, Responder responder) {
  BindStream(std::move(stream));
  absl::Status end;
  {
    const std::lock_guard lock(finish_mu_);
    if (!has_finished_) {
      responder_ = std::move(responder);
      return;
    }
    end = std::move(early_end_);
  }
  responder(std::move(end));
  OnEndKnown();
}

void ServerReactor::Finish(absl::Status status) { FinishOnce(std::move(status)); }

bool ServerReactor::FinishOnce(absl::Status status) {
  Responder responder;
  {
    const std::lock_guard lock(finish_mu_);
    if (std::exchange(has_finished_, true)) return false;
    responder = std::exchange(responder_, nullptr);
    if (responder == nullptr) {
      early_end_ = std::move(status);
      return true;
    }
  }
  responder(std::move(status));
  OnEndKnown();
  return true;
}

void ServerReactor::OnThrown(absl::Status thrown) {
  if (!FinishOnce(thrown)) Log(Severity::kWarning, absl::StrCat(thrown.message(), ", when its call had ended"));
}

void BindServerReactor(ServerReactor* reactor, absl::string_view method, std::shared_ptr<MessageStream> stream,
                       Responder responder) {
  if (reactor != nullptr) return reactor->Bind(std::move(stream), std::move(responder));
  responder(absl::UnimplementedError(absl::StrCat(method, " is not implemented by this server")));
}

}  // namespace verbena::rpc
