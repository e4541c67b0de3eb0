// How an RdmaConnection is authenticated, before it is anybody's.

#include <utility>

#include "transport/connection_handle.h"
#include "transport/rdma_connection.h"

namespace verbena::transport {

void RdmaConnection::Do(const protocol::PostAuthenticate& action) {
  RegisteredPool::Buffer buffer = group_.TakeSendBuffer();
  const uint32_t length = WriteControlFrame(action.header, action.message, buffer.data());
  QueueFrame(std::move(buffer), length);
}

void RdmaConnection::Do(const protocol::AskAuthenticator& action) {
  const bool asked = authentication_->Ask(action.message, action.last,
                                          [weak = weak_from_this()](absl::StatusOr<AuthenticationRun::Answer> answer) {
                                            if (const auto self = weak.lock())
                                              self->OnAuthenticatorAnswer(std::move(answer));
                                          });
  if (asked) return;
  machine_.OnAuthenticatorBusy(loop()->Now());
  MarkDirty();
}

void RdmaConnection::OnAuthenticatorAnswer(absl::StatusOr<AuthenticationRun::Answer> answer) {
  const absl::Time now = loop()->Now();
  absl::Status refusal = answer.status();
  if (answer.ok()) {
    const bool accepted = answer->peer.has_value();
    if (accepted) peer_identity_ = std::make_shared<const PeerIdentity>(*std::move(answer->peer));
    refusal = machine_.OnAuthenticationAnswer(answer->message, accepted, now);
  } else {
    machine_.OnAuthenticationRefused(now);
  }
  if (!refusal.ok()) refusal_ = absl::UnauthenticatedError(refusal.message());
  MarkDirty();
}

void RdmaConnection::Do(const protocol::Authenticated&) {
  authentication_.reset();
  AuthenticatedCallback done = std::exchange(on_authenticated_, nullptr);
  done(std::make_unique<ConnectionHandle>(shared_from_this()));
}

}  // namespace verbena::transport
