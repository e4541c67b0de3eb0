// What a client connection does about being connected: when, whether any more, and what follows.

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
    CloseDrained();
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

// Those that no call is left on: servers that asked for it close them, and would collect them if they did not.
void ClientConnection::CloseDrained() {
  for (const std::unique_ptr<ClientLink>& link : links_) {
    if (link->drained() && !session_.HasCalls(link->epoch())) link->Close();
  }
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

// After idle_timeout as if it had never been wanted: the next call connects.
void ClientConnection::CloseIfUnused() {
  if (session_.calls() > 0) return;
  if (!wanted_) observer_.OnUnused(*this);
  if (link_ == nullptr || (wanted_ && loop_.Now() < unused_since_ + options_->idle_timeout)) return;
  ClientLink* const closing = std::exchange(link_, nullptr);
  session_.OnPeerDraining(closing->epoch());
  reconnect_.OnClosed();
  connects_ahead_ = !wanted_ && options_->connect_ahead;  // Idle, or to be wanted again.
  Publish(wanted_ ? "not connected: idle" : "not connected: another server has the calls");
  closing->Close();
}

ConnectivityState ClientConnection::ConnectivityNow() const {
  if (link_ != nullptr) return ConnectivityState::kReady;
  if (attempt_failed_) return ConnectivityState::kTransientFailure;
  return reconnect_.state() == Reconnect::State::kConnecting ? ConnectivityState::kConnecting
                                                             : ConnectivityState::kIdle;
}

void ClientConnection::ReportConnectivity() {
  const ConnectivityState before = std::exchange(connectivity_, ConnectivityNow());
  if (before != connectivity_) observer_.OnConnectivity(*this, before);
}

absl::Status ClientConnection::CheckChance(absl::Time now, bool waits_for_ready) const {
  const bool backs_off = reconnect_.state() == Reconnect::State::kDisconnected && !reconnect_.ShouldConnect(now);
  if (backs_off && absl::IsUnauthenticated(session_.last_connect_error())) return session_.last_connect_error();
  if (!waits_for_connection_) return absl::UnavailableError("there is no connection");
  if (!backs_off || waits_for_ready || options_->connect_timeout > absl::ZeroDuration()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("no connection: ", last_failure_.message()));
}

}  // namespace verbena::rpc
