// The orderly end of a connection: each side says kDrain after its last message, and a Goodbye ends it when nothing is
// in flight any more.
//
//   1. A side drains because its user wishes it, or because the peer's kDrain arrived. It takes no new Send.
//   2. When its queued messages are posted, it posts kDrain: no message of its follows.
//   3. When both have said kDrain and everything it sent and fetched is finished, it posts kGoodbye (kClosed).
//
// Both may say Goodbye at once. Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_DRAIN_H_
#define VERBENA_TRANSPORT_PROTOCOL_DRAIN_H_

#include "absl/time/time.h"

namespace verbena::protocol {

class Drain {
 public:
  explicit Drain(absl::Duration timeout) : timeout_(timeout) {}

  // Ours or the peer's wish. Once is enough; the first sets the deadline.
  void Request(absl::Time now) {
    if (requested_) return;
    requested_ = true;
    deadline_ = now + timeout_;
  }
  void OnPosted() { posted_ = true; }
  void OnPeerDrain() { peer_drained_ = true; }

  bool requested() const { return requested_; }
  bool posted() const { return posted_; }              // Our kDrain is on its way.
  bool peer_drained() const { return peer_drained_; }  // The peer's has arrived.
  bool FrameDue(bool messages_queued) const { return requested_ && !posted_ && !messages_queued; }
  bool agreed() const { return posted_ && peer_drained_; }
  absl::Time Deadline() const { return deadline_; }

 private:
  const absl::Duration timeout_;
  absl::Time deadline_ = absl::InfiniteFuture();
  bool requested_ = false;
  bool posted_ = false;
  bool peer_drained_ = false;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_DRAIN_H_
