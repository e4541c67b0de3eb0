// The exchange that comes before everything else on a connection whose handshake chose authentication: messages of the
// two authenticators, in strict turns, until both sides are content.
//
//   client                              server
//     | -- continue: message ------------> |   asks its authenticator
//     | <- continue: message ------------- |   … as often as they like, up to kAuthenticationMessagesMax each
//     | -- continue: message ------------> |   the server knows its client
//     | <- accept: message --------------- |   the client checks the server's last message
//     | -- accept (no message) ----------> |   open
//
// The client is open when it posts its accept: what follows on the wire stands behind it. What is in the messages is
// the authenticators'; that an authenticator refuses its peer is not told to this machine as a reason, and so cannot
// reach the peer.
//
// Order of calls: while asking(), OnAnswer; while FrameDue(), NextFrame; else OnFrame. After agreed(), nothing.
//
// Owner: the connection machine. Thread: its loop's. Errors: what a peer does wrong is a Status, a protocol error.

#ifndef VERBENA_TRANSPORT_PROTOCOL_AUTHENTICATION_EXCHANGE_H_
#define VERBENA_TRANSPORT_PROTOCOL_AUTHENTICATION_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transport/protocol/actions.h"
#include "transport/wire/frame.h"

namespace verbena::protocol {

class AuthenticationExchange {
 public:
  // `initiator`: the client, whose turn is first. `peer_buffer_bytes`: the longest frame that the peer can receive.
  AuthenticationExchange(bool initiator, uint32_t peer_buffer_bytes, absl::Time deadline);

  // When it must be over.
  absl::Time deadline() const { return deadline_; }
  bool asking() const { return state_ == State::kAsking; }
  bool agreed() const { return state_ == State::kAgreed; }

  // A frame of the peer's. If asking() afterwards, its message is for our authenticator.
  absl::Status OnFrame(const wire::FrameView& frame);
  // Our authenticator's answer. `accept`: the peer is who it should be. FailedPrecondition: the answer has no place in
  // the exchange (too long, one too many, a client that is not content when the server is); ours to report.
  absl::Status OnAnswer(absl::string_view message, bool accept);

  bool FrameDue() const { return state_ == State::kSending; }
  // The message is valid until the next call; the header lacks its grant.
  PostAuthenticate NextFrame();

 private:
  enum class State : uint8_t {
    kAsking,    // Our authenticator has the turn. Woken by OnAnswer, or the deadline.
    kSending,   // Its answer is to be posted. Woken by credits and buffers.
    kAwaiting,  // The peer has the turn. Woken by its frame, or the deadline.
    kAgreed,    // Over.
  };

  size_t message_bytes_max() const;

  // Constant after construction.
  const bool initiator_;
  const uint32_t peer_buffer_bytes_;
  const absl::Time deadline_;

  // Owned by the loop.
  State state_;
  bool accepted_ = false;       // We have said so, or are about to.
  bool peer_accepted_ = false;  // The peer has.
  uint32_t sent_ = 0;
  uint32_t received_ = 0;
  std::string message_;  // kSending: ours.
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_AUTHENTICATION_EXCHANGE_H_
