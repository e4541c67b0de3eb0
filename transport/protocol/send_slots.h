// The first of the two gates before a frame: a free slot of the send queue, counted by our own send completions.
//
// A credit that arrives says nothing about send completions (the order between completion queues is undefined), so the
// two are never derived from each other. The last kControlSendSlots slots are for control frames: a queue full of
// messages never stops a grant, a finish or a goodbye.
//
// Remembers what was posted, in order: SENDs of one queue pair complete in the order of posting. A frame that joins the
// SEND posted last shares its slot and its completion.
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

  bool HasRoomForControl() const { return posted_ < slots_; }
  bool HasRoomForMessage() const { return posted_ + kControlSendSlots < slots_; }
  // Of those for messages more than half are taken.
  bool HalfFull() const { return 2 * posted_ + kControlSendSlots > slots_; }

  // A frame takes a slot. `send_id`: who is told of its completion, or kNoSend.
  void Post(uint64_t send_id) {
    assert(HasRoomForControl());
    frames_.Push(Frame{send_id, false});
    ++posted_;
    newest_frames_ = 1;
  }
  // Whether the SEND posted last may carry one frame more.
  bool MayJoin() const { return newest_frames_ < wire::kFramesPerSendMax; }
  // A frame joins the one posted last, which has not left yet.
  void Join(uint64_t send_id) {
    assert(posted_ > 0 && MayJoin());
    frames_.Push(Frame{send_id, true});
    ++newest_frames_;
  }

  // The oldest SEND has completed; calls `function` with what was given to Post, and to Join, for each of its frames.
  // Not when nothing is posted.
  template <typename Function>
  void Complete(Function function) {
    --posted_;
    do {
      function(frames_.Pop().send_id);
    } while (!frames_.empty() && frames_.front().joined);
  }

  // What was given to Post and Join for each frame that has not completed, the oldest first.
  template <typename Function>
  void ForEach(Function function) const {
    frames_.ForEach([&function](const Frame& frame) { function(frame.send_id); });
  }

  size_t posted() const { return posted_; }  // SENDs.

 private:
  struct Frame {
    uint64_t send_id = kNoSend;
    bool joined = false;
  };

  const uint32_t slots_;
  uint32_t posted_ = 0;
  size_t newest_frames_ = 0;  // Of the SEND posted last.
  Ring<Frame> frames_;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_
