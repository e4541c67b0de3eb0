// When answers are to leave before the turn of the loop that makes them has ended.
//
// What a turn sends shares a doorbell at its end: the more there is, the less each costs. But if the messages of a turn
// are all that is on its way between two ends, then the peer has nothing to do until that doorbell rings, and this end
// nothing until the peer's: they take turns, and half of both processors is lost. An end sees this by having waited
// before its messages came. Then the first half of its answers leaves by a doorbell of its own, and the peer works on
// these while the others are made. From then on two batches are under way and nobody waits, so that each leaves at its
// turn's end again, until one has caught up with the other.
//
// How many messages a turn has is not known when it begins: as many as the last, it is assumed.
//
// In each turn: OnMessage, with OnAnswer in between as it comes, and OnTurnEnd. What is sent at other times is no
// answer, and may be told as if it were. Messages that were fetched are not answered one by one as they come, but all
// at the turn's end: of these, each is told as its own answer too, and where OnAnswer returns true those that have come
// are to be answered at once.
//
// Owner: a connection's driver. Thread: its loop's. Pure.

#ifndef VERBENA_TRANSPORT_BATCH_SPLITTER_H_
#define VERBENA_TRANSPORT_BATCH_SPLITTER_H_

#include <cstdint>
#include <utility>

namespace verbena::transport {

class BatchSplitter {
 public:
  // `share`: so many messages fill what is posted at a time, and leave by themselves: a turn that has more of them is
  // in two batches anyway.
  explicit BatchSplitter(uint32_t share) : share_(share) {}

  // A message is delivered. `waited`: none had come when the loop looked the last time before this turn.
  void OnMessage(bool waited) {
    if (messages_++ > 0) return;
    answers_ = 0;
    half_ = waited && last_messages_ <= share_ ? last_messages_ / 2 : 0;
  }
  // One is sent that may be an answer. True: with it and what is queued the doorbell is to ring.
  bool OnAnswer() { return ++answers_ == half_; }
  void OnTurnEnd() {
    if (messages_ == 0) return;
    last_messages_ = std::exchange(messages_, 0);
    half_ = 0;
  }

 private:
  const uint32_t share_;
  uint32_t last_messages_ = 0;  // Of the last turn that had any.
  uint32_t messages_ = 0;       // Delivered in this turn.
  uint32_t answers_ = 0;        // Sent since the first of those.
  uint32_t half_ = 0;           // So many leave by a doorbell of their own. 0: none do.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_BATCH_SPLITTER_H_
