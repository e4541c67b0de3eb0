#include "transport/protocol/authentication_exchange.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {

namespace {

absl::Status ProtocolError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("protocol error: ", what));
}

}  // namespace

AuthenticationExchange::AuthenticationExchange(bool initiator, uint32_t peer_buffer_bytes, absl::Time deadline)
    : initiator_(initiator),
      peer_buffer_bytes_(peer_buffer_bytes),
      deadline_(deadline),
      state_(initiator ? State::kAsking : State::kAwaiting) {}

size_t AuthenticationExchange::message_bytes_max() const {
  return std::min(kAuthenticationBytesMax, peer_buffer_bytes_ - wire::kFrameHeaderBytes);
}

absl::Status AuthenticationExchange::OnFrame(const wire::FrameView& frame) {
  if (state_ != State::kAwaiting) return ProtocolError("a message of the authentication out of turn");
  if (frame.call_header.size() > kAuthenticationBytesMax)
    return ProtocolError("a message of the authentication is too long");
  if (++received_ > kAuthenticationMessagesMax) return ProtocolError("the authentication has too many messages");
  peer_accepted_ = frame.header.aux == static_cast<uint32_t>(wire::AuthenticationStep::kAccept);
  if (initiator_) {
    state_ = State::kAsking;
    return absl::OkStatus();
  }
  // The client has the last word, and that only after the server's.
  if (peer_accepted_ != accepted_) return ProtocolError("the client accepts too early, or goes on after the end");
  if (accepted_ && !frame.call_header.empty())
    return ProtocolError("the last word of the authentication has a message");
  state_ = accepted_ ? State::kAgreed : State::kAsking;
  return absl::OkStatus();
}

absl::Status AuthenticationExchange::OnAnswer(absl::string_view message, bool accept) {
  assert(state_ == State::kAsking);
  if (message.size() > message_bytes_max()) {
    return absl::FailedPreconditionError(absl::StrCat("the authenticator's message has ", message.size(),
                                                      " bytes; there is room for ", message_bytes_max()));
  }
  if (sent_ == kAuthenticationMessagesMax) {
    return absl::FailedPreconditionError(
        absl::StrCat("the authenticator wants more than ", kAuthenticationMessagesMax, " messages"));
  }
  if (initiator_ && accept != peer_accepted_) {
    return absl::FailedPreconditionError("the client accepts when the server has, neither before nor later");
  }
  if (initiator_ && accept && !message.empty()) {
    return absl::FailedPreconditionError("the client's last word has no message");
  }
  message_ = std::string(message);
  accepted_ = accept;
  state_ = State::kSending;
  return absl::OkStatus();
}

PostAuthenticate AuthenticationExchange::NextFrame() {
  assert(state_ == State::kSending);
  ++sent_;
  state_ = accepted_ && peer_accepted_ ? State::kAgreed : State::kAwaiting;
  wire::FrameHeader header;
  header.type = wire::FrameType::kAuthenticate;
  header.aux =
      static_cast<uint32_t>(accepted_ ? wire::AuthenticationStep::kAccept : wire::AuthenticationStep::kContinue);
  header.call_header_bytes = static_cast<uint16_t>(message_.size());
  return PostAuthenticate{header, message_};
}

}  // namespace verbena::protocol
