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
  explicit EagerSender(ActionQueue* actions) : actions_(actions) {}

  // Queues a message. Returns its id.
  uint64_t Add(const SendHead& head);
  // Ends a message that is still queued as kNotSent; one that is posted stays as it is.
  void Cancel(uint64_t send_id);

  bool HasFrame() const { return !queued_.empty(); }
  // The oldest queued message, now posted; the grant is left to the caller. HasFrame() must hold.
  PostEager NextFrame();
  // A posted frame has completed.
  void OnCompleted(uint64_t send_id);

  // The peer said that it has received everything: what is posted is delivered.
  void OnAllReceived() { EndPosted(SendOutcome::kDelivered); }
  // The connection is gone: queued messages end as kNotSent, posted ones as kUnknown.
  void Close();

  size_t size() const { return table_.size(); }
  bool empty() const { return table_.empty(); }

 private:
  struct Message {
    SendHead head;
    bool posted = false;
  };

  void End(uint32_t index, SendOutcome outcome);
  void EndPosted(SendOutcome outcome);

  ActionQueue* const actions_;
  SlotTable<Message> table_;
  SlotQueue queued_;
  SlotQueue posted_;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_EAGER_SENDER_H_
