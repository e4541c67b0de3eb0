// The sending half of a stream: numbers its messages, and knows whether the receiver's window has room.
//
// Flow control is in bytes and cumulative: the receiver says up to where in the stream it takes messages (OnWindow),
// and a message may go as long as what was sent before it ends below that. So one message may reach past the limit,
// however large it is, and the next waits until the reader has caught up. Each message counts kStreamMessageOverhead
// bytes beyond its payload, so that empty ones have a bound as well. Updates lost to reordering do no harm: a later one
// says all.
//
// Owner: one end of a call. Thread: its event loop's. Pure.

#ifndef VERBENA_RPC_CORE_STREAM_SENDER_H_
#define VERBENA_RPC_CORE_STREAM_SENDER_H_

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace verbena::rpc {

// What a sender may use before it has heard of the receiver. Part of the protocol (docs/wire.md).
inline constexpr uint64_t kStreamWindowInitial = 64 << 10;
inline constexpr uint64_t kStreamMessageOverhead = 64;

class StreamSender {
 public:
  // Whether the window has room for one more message, of any size.
  bool may_send() const { return sent_bytes_ < limit_; }

  // Counts a message as sent and returns its number. may_send() is true.
  uint64_t Send(uint64_t payload_bytes) {
    assert(may_send());
    sent_bytes_ += payload_bytes + kStreamMessageOverhead;
    return count_++;
  }

  // The receiver takes messages up to `limit`; what it allowed it does not take back.
  void OnWindow(uint64_t limit) { limit_ = std::max(limit_, limit); }

  uint64_t count() const { return count_; }  // Messages sent.

 private:
  uint64_t limit_ = kStreamWindowInitial;
  uint64_t sent_bytes_ = 0;
  uint64_t count_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_STREAM_SENDER_H_
