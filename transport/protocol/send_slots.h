// The first of the two gates before a frame: a free slot of the send queue, counted by our own send completions.
//
// A credit that arrives says nothing about send completions (the order between completion queues is undefined), so the
// two are never derived from each other. The last kControlSendSlots slots are for control frames: a queue full of
// messages never stops a grant, a finish or a goodbye.
//
// Remembers what was posted, in order: SENDs of one queue pair complete in the order of posting.
//
// Owner: the connection machine. Thread: its loop's. Invariant: posted frames <= slots.

#ifndef VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_
#define VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "transport/protocol/limits.h"
#include "transport/protocol/ring.h"

namespace verbena::protocol {

class SendSlots {
 public:
  static constexpr uint64_t kNoSend = 0;  // A frame that nobody waits for: control, announcements.

  // `slots` >= kSendSlotsMin.
  explicit SendSlots(uint32_t slots) : slots_(slots) { assert(slots >= kSendSlotsMin); }

  bool HasRoomForControl() const { return posted_.size() < slots_; }
  bool HasRoomForMessage() const { return posted_.size() + kControlSendSlots < slots_; }

  // A frame takes a slot. `send_id`: who is told of its completion, or kNoSend.
  void Post(uint64_t send_id) {
    assert(HasRoomForControl());
    posted_.Push(send_id);
  }

  // The oldest frame has completed; returns what was given to Post. Not when nothing is posted.
  uint64_t Complete() { return posted_.Pop(); }

  // What was given to Post for each posted frame, the oldest first.
  template <typename Function>
  void ForEach(Function function) const {
    posted_.ForEach(function);
  }

  size_t posted() const { return posted_.size(); }

 private:
  const uint32_t slots_;
  Ring<uint64_t> posted_;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SEND_SLOTS_H_
