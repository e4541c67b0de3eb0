// How a ConnectionMachine begins where the handshake chose authentication.

#include "absl/strings/str_cat.h"
#include "transport/protocol/connection_machine.h"

namespace verbena::protocol {

using wire::FrameType;
using wire::GoodbyeReason;

absl::Status ConnectionMachine::DispatchAuthentication(const wire::FrameView& frame) {
  if (frame.header.type == FrameType::kGoodbye) {
    OnPeerGoodbye(frame);
    return absl::OkStatus();
  }
  if (frame.header.type != FrameType::kAuthenticate) {
    return absl::InvalidArgumentError(absl::StrCat("protocol error: a frame of type ", ToString(frame.header.type),
                                                   " before the end of the authentication"));
  }
  if (absl::Status status = authentication_.OnFrame(frame); !status.ok()) return status;
  if (authentication_.agreed()) {
    OnAuthenticated(now_);
  } else {
    const auto* message = reinterpret_cast<const char*>(frame.call_header.data());
    const bool last = frame.header.aux == static_cast<uint32_t>(wire::AuthenticationStep::kAccept);
    actions_.Push(AskAuthenticator{absl::string_view(message, frame.call_header.size()), last});
  }
  return absl::OkStatus();
}

absl::Status ConnectionMachine::OnAuthenticationAnswer(absl::string_view message, bool accept, absl::Time now) {
  StirUp();
  if (state_ != State::kAuthenticating || !authentication_.asking()) return absl::OkStatus();
  absl::Status status = authentication_.OnAnswer(message, accept);
  if (!status.ok()) OnAuthenticationRefused(now);
  return status;
}

void ConnectionMachine::OnAuthenticationRefused(absl::Time now) {
  // Whatever was wrong: who guesses learns nothing from the answer.
  SayGoodbye(absl::UnauthenticatedError("the identity could not be verified"), GoodbyeReason::kAuthenticationFailed,
             now);
}

// No refusal: the peer would take that as the last word on who it is.
void ConnectionMachine::OnAuthenticatorBusy(absl::Time now) {
  SayGoodbye(absl::ResourceExhaustedError("too many authentications wait for a thread, or this end shuts down"),
             GoodbyeReason::kShutdown, now);
}

void ConnectionMachine::NextAuthentication(std::optional<Action>& action) {
  const bool may_post = !messages_held_ && slots_.HasRoomForMessage();
  if (!authentication_.FrameDue() || !may_post || !credits_.MaySpendInTurn()) return;
  PostAuthenticate frame = authentication_.NextFrame();
  frame.header.credit_grant = credits_.Spend();
  slots_.Post(SendSlots::kNoSend);
  action.emplace(frame);
  if (authentication_.agreed()) OnAuthenticated(now_);
}

void ConnectionMachine::OnAuthenticated(absl::Time now) {
  StirUp();
  state_ = State::kOpen;
  keepalive_.OnFrame(now);
  actions_.Push(Authenticated());
}

}  // namespace verbena::protocol
