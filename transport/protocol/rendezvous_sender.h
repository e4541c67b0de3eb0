// Messages whose payload the peer fetches: exported, announced, finished by the peer; or withdrawn.
//
// An export is released only when the peer cannot READ it any more: by its kFinish, or when the queue pair is destroyed
// (Close). A cancelled message that was announced reports its Sent at once and leaves its export in quarantine until
// then. Past its bytes, an export that the peer was asked to let go of is revoked, the oldest first, where the driver
// can do that; a quarantine that is full all the same, by bytes or for long by number, is for the caller to act upon,
// by ending the connection.
//
// A transfer is a numbered slot (kTransfersMax of them) taken from export to kFinish; messages beyond wait, unexported,
// so one connection's exports are bounded by number. While many wait fewer are on offer: what is exported is written
// then, and with few ahead of it it is still in the cache when it is fetched. While few wait all are, for then an end
// whose messages wait may have nothing else to do, and its peer neither.
//
// Owner: the connection machine. Thread: its loop's. Invariants: every Add is answered by exactly one Sent; every
// Export by exactly one OnExportFailed, ReleaseExport or RevokeExport. Errors: a kFinish that answers no announcement.

#ifndef VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_SENDER_H_
#define VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_SENDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/protocol/action_queue.h"
#include "transport/protocol/limits.h"
#include "transport/protocol/send_head.h"
#include "transport/protocol/slot_table.h"
#include "transport/wire/frame.h"

namespace verbena::protocol {

class RendezvousSender {
 public:
  static constexpr uint32_t kIdTag = uint32_t{1} << 31;  // Set in the ids of this sender's messages.

  // From when kManyWaiting wait until no more than kFewWaiting do, kOfferedMin messages are on offer, and more up to
  // Limits::offered_bytes of the length of the next. The two are far apart, for the end of it lets many be written in
  // one go. Measured: docs/performance/large-payloads.md.
  static constexpr size_t kManyWaiting = 28;
  static constexpr size_t kFewWaiting = 4;
  static constexpr size_t kOfferedMin = 4;

  struct Limits {
    uint32_t frame_bytes_max;       // The peer's receive buffer.
    uint64_t quarantine_bytes_max;  // See quarantine_full().
    uint64_t offered_bytes;         // While many wait.
  };

  // `revocable`: exports can be taken away although the peer has not finished. `announce_flags`: of every
  // announcement's header.
  RendezvousSender(const Limits& limits, bool revocable, uint16_t announce_flags, ActionQueue* actions);

  // Queues a message. Returns its id.
  uint64_t Add(const SendHead& head);
  void Cancel(uint64_t send_id);

  // Whether some that wait may be on offer now. StartExports finds out, and asks for the Export of those that may. To
  // be called when nothing else is to happen first: so that of many that are cancelled in one go none is written.
  bool exports_due() const { return exports_due_; }
  void StartExports();

  void OnExported(uint64_t send_id, absl::Span<const wire::Segment> segments);
  void OnExportFailed(uint64_t send_id);
  absl::Status OnFinish(const wire::FrameHeader& finish);

  // The next announcement in order of export, and the length of its frame; the grant is left to the caller.
  // HasAnnounce() must hold.
  bool HasAnnounce() const { return !ready_.empty(); }
  size_t NextAnnounceBytes() const;
  PostAnnounce NextAnnounce();
  // The next withdrawal. HasWithdraw() must hold.
  bool HasWithdraw() const { return !withdrawing_.empty(); }
  wire::FrameHeader NextWithdraw();

  // Too many bytes are withdrawn and unfinished. One message alone never is too many: its finish may be under way.
  bool quarantine_full() const {
    return quarantined_exports_ - revoked_ > 1 && quarantined_bytes_ > limits_.quarantine_bytes_max;
  }
  // Messages that are withdrawn and unfinished.
  uint32_t quarantined() const { return quarantined_exports_; }
  // Messages that are not announced yet.
  bool HasUnannounced() const { return unannounced_ > 0; }
  size_t size() const { return table_.size(); }  // Quarantine included.
  bool empty() const { return table_.empty(); }

  // The queue pair is destroyed: nothing can be READ any more.
  void Close();

 private:
  enum class State : uint8_t {
    kWaiting,      // Until it may be on offer; in waiting_. Woken by StartExports.
    kExporting,    // The driver is asked to export.
    kReady,        // Exported; in ready_ until both gates are open.
    kAnnounced,    // The peer may READ. Woken by kFinish.
    kWithdrawing,  // Cancelled after the announcement; in withdrawing_ until both gates are open.
    kWithdrawn,    // kWithdraw is posted; in withdrawn_. Woken by kFinish.
    kRevoked,      // Taken away; only its transfer is held. Woken by kFinish.
  };
  struct Message {
    SendHead head;
    State state = State::kWaiting;
    uint32_t transfer = 0;  // Of all states but kWaiting.
    std::vector<wire::Segment> segments;
  };
  struct Transfer {
    uint32_t message = SlotQueue::kNone;
    uint16_t uses = 0;
  };

  // Whether few are to be on offer from now on, as it has become.
  void CountWaiting();
  bool MayOffer(const Message& next) const;
  void LeaveQueue(uint32_t index);
  void Quarantine(uint32_t index);
  void RevokeOldest();
  void LeaveQuarantine(const Message& message);
  uint32_t FindTransfer(uint32_t transfer) const;
  // Ends a message for good: its transfer is free again.
  void Free(uint32_t index);

  const Limits limits_;
  const bool revocable_;
  const uint16_t announce_flags_;
  ActionQueue* const actions_;
  SlotTable<Message> table_{kIdTag};
  SlotQueue waiting_;
  SlotQueue ready_;
  SlotQueue withdrawing_;
  SlotQueue withdrawn_;
  std::array<Transfer, kTransfersMax> transfers_;
  uint32_t transfers_free_ = ~uint32_t{0};  // A bit for each.
  static_assert(kTransfersMax == 32, "transfers_free_ has a bit for each");
  uint32_t transfers_taken_ = 0;
  bool exports_due_ = false;  // Something has changed since StartExports, and some wait.
  bool offers_few_ = false;   // Since many waited.
  size_t unannounced_ = 0;
  uint32_t quarantined_exports_ = 0;  // Revoked ones included: each holds a transfer.
  uint32_t revoked_ = 0;
  uint64_t quarantined_bytes_ = 0;  // Of those that are not revoked.
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_SENDER_H_
