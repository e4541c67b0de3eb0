// The first of the two gates before a frame: a free slot of the send queue, counted by our own send completions.
//
// A credit that arrives says nothing about send completions (the order between completion queues is undefined), so the
// two are never derived from each other. The last kControlSendSlots slots are for control frames: a queue full of
// messages never stops a grant, a finish or a goodbye.
//
// Remembers whose frames were posted, in order: SENDs of one queue pair complete in the order of posting. A frame that
// joins the SEND posted last shares its slot and its completion.
//
// Owner: the connection machine. Thread: its loop's. Invariant: posted SENDs <= slots.

#ifndef VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_
#define VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "transport/protocol/limits.h"
#include "transport/protocol/ring.h"

namespace verbena::protocol {

// SENDs of a connection in a row that its driver may post without a completion, if the machine does not await them:
// their slots come free with the next that has one. Few of those that there are: see HalfFull.
inline constexpr uint32_t kUnsignaledSendsMax = 8;

class SendSlots {
 public:
  static constexpr uint64_t kNoSend = 0;  // A frame that nobody waits for.

  // `slots` >= kSendSlotsMin.
  explicit SendSlots(uint32_t slots) : slots_(slots) { assert(slots >= kSendSlotsMin); }

  bool HasRoomForControl() const { return posted() < slots_; }
  bool HasRoomForMessage() const { return posted() + kControlSendSlots < slots_; }
  // Of those for messages more than half are taken.
  bool HalfFull() const { return 2 * posted() + kControlSendSlots > slots_; }

  // A frame takes a slot. `send_id`: who is told of its completion, or kNoSend.
  void Post(uint64_t send_id) {
    assert(HasRoomForControl());
    awaited_in_.Push(uint8_t{0});
    newest_frames_ = 0;
    Join(send_id);
  }
  // Whether the SEND posted last may carry one frame more.
  bool MayJoin() const { return newest_frames_ < wire::kFramesPerSendMax; }
  // A frame joins the one posted last, which has not left yet.
  void Join(uint64_t send_id) {
    assert(posted() > 0 && MayJoin());
    ++newest_frames_;
    if (send_id == kNoSend) return;
    ++awaited_in_.back();
    awaited_.Push(send_id);
  }

  // The oldest SEND has completed; calls `function` with the send id of each of its frames that somebody waits for. Not
  // when nothing is posted.
  template <typename Function>
  void Complete(Function function) {
    for (uint8_t left = awaited_in_.Pop(); left > 0; --left) function(awaited_.Pop());
  }

  // The same for each SEND that has not completed, the oldest first.
  template <typename Function>
  void ForEach(Function function) const {
    awaited_.ForEach(function);
  }

  size_t posted() const { return awaited_in_.size(); }  // SENDs.

 private:
  const uint32_t slots_;
  size_t newest_frames_ = 0;  // Of the SEND posted last.
  Ring<uint8_t> awaited_in_;  // By SEND: how many of its frames somebody waits for.
  Ring<uint64_t> awaited_;    // Their send ids.
};
static_assert(wire::kFramesPerSendMax <= 0xff);

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_
