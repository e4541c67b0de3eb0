// Messages whose payload rides along in one frame: queued until both gates are open, posted, done when the frame's send
// completes (the peer's device has acknowledged it).
//
// Owner: the connection machine. Thread: its loop's. Invariant: every Add is answered by exactly one Sent.

#ifndef VERBENA_TRANSPORT_PROTOCOL_EAGER_SENDER_H_
#define VERBENA_TRANSPORT_PROTOCOL_EAGER_SENDER_H_

#include <cstddef>
#include <cstdint>

#include "transport/protocol/action_queue.h"
#include "transport/protocol/send_head.h"
#include "transport/protocol/slot_table.h"

namespace verbena::protocol {

class EagerSender {
 public:
  explicit EagerSender(ActionQueue* actions) : actions_(*actions) {}

  // Queues a message. Returns its id.
  uint64_t Add(const SendHead& head) {
    const uint32_t index = table_.Allocate();
    table_[index] = Message{head, false};
    table_.PushBack(queued_, index);
    return table_.IdOf(index);
  }
  // Ends a message that is still queued as kNotSent; one that is posted stays as it is.
  void Cancel(uint64_t send_id) {
    const uint32_t index = table_.Find(send_id);
    if (index == SlotQueue::kNone || table_[index].posted) return;
    table_.Remove(queued_, index);
    End(index, SendOutcome::kNotSent);
  }

  bool HasFrame() const { return !queued_.empty(); }
  // Of the oldest queued message. HasFrame() must hold.
  size_t NextFrameBytes() const { return table_[queued_.head].head.eager_frame_bytes(); }
  // The oldest queued message, now posted; the grant is left to the caller. HasFrame() must hold.
  PostEager NextFrame() {
    const uint32_t index = table_.PopFront(queued_);
    Message& message = table_[index];
    message.posted = true;
    return PostEager{table_.IdOf(index), false, message.head.EagerHeader()};
  }
  // The end of a posted message; nothing if it has ended already. Its frame has completed, or never will: whoever keeps
  // the posted frames (SendSlots) knows.
  void EndPosted(uint64_t send_id, SendOutcome outcome) {
    const uint32_t index = table_.Find(send_id);
    if (index != SlotQueue::kNone) End(index, outcome);
  }

  // The connection is gone: queued messages end as kNotSent.
  void Close() {
    while (!queued_.empty()) End(table_.PopFront(queued_), SendOutcome::kNotSent);
  }

  size_t size() const { return table_.size(); }
  bool empty() const { return table_.empty(); }

 private:
  struct Message {
    SendHead head;
    bool posted = false;
  };

  void End(uint32_t index, SendOutcome outcome) {
    actions_.Push(Sent{table_.IdOf(index), outcome});
    table_.Free(index);
  }

  ActionQueue& actions_;
  SlotTable<Message> table_;
  SlotQueue queued_;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_EAGER_SENDER_H_
