// What a client connection does when it is connected, or not any more.

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/client_connection.h"
#include "transport/log.h"

namespace verbena::rpc {

void ClientConnection::OnConnectDone(absl::StatusOr<std::unique_ptr<transport::Connection>> connection) {
  if (shut_down_) return;
  if (connection.ok()) {
    reconnect_.OnConnected(loop_.Now());
    attempt_failed_ = false;
    connects_ahead_ = options_->connect_ahead;
    unused_since_ = loop_.Now();
    links_.push_back(std::make_unique<ClientLink>(this, ++last_epoch_, *std::move(connection)));
    link_ = links_.back().get();
    Publish(absl::StrCat("connected to ", link_->peer()));
    session_.OnConnected(last_epoch_, loop_.Now());
  } else {
    const absl::Status& why = connection.status();
    if (absl::IsUnauthenticated(why)) {
      reconnect_.OnRefused(loop_.Now());
    } else {
      reconnect_.OnConnectFailed(loop_.Now());
    }
    attempt_failed_ = true;
    last_failure_ = why;
    Publish(absl::StrCat("not connected: ", why.message()));
    // Once an outage: what follows is the same again.
    if (reconnect_.failures() <= 2 && session_.last_connect_error() != why) {
      Log(Severity::kWarning, absl::StrCat("channel to ", address_, ": no connection: ", why.message()));
    }
    session_.OnConnectFailed(why);
  }
  Settle();
}

// New calls need another connection; those in flight may go on.
void ClientConnection::OnLinkLost(absl::Status why) {
  link_ = nullptr;
  reconnect_.OnLost(loop_.Now());
  Publish(absl::StrCat("not connected: ", why.message()));
  last_failure_ = std::move(why);
}

void ClientConnection::OnLinkDraining(ClientLink& link) {
  session_.OnPeerDraining(link.epoch());
  if (link_ == &link) OnLinkLost(absl::UnavailableError("the server is shutting down"));
  Settle();
}

void ClientConnection::OnLinkClosed(ClientLink& link, const absl::Status& status) {
  session_.OnDisconnected(link.epoch(), status);
  if (link_ == &link) {
    OnLinkLost(status.ok() ? absl::UnavailableError("the server closed the connection") : status);
    if (!status.ok()) {
      Log(Severity::kWarning, absl::StrCat("channel to ", address_, ": connection lost: ", status.message()));
    }
  }
  for (ClientCall* const call : calls_) {
    if (call != nullptr && call->link() == &link) call->OnLinkGone();
  }
  std::erase_if(links_, [&link](const std::unique_ptr<ClientLink>& owned) { return owned.get() == &link; });
  Settle();
}

}  // namespace verbena::rpc
