// Large messages of the peer: asked about, fetched by READs into landing memory, checked, delivered, finished.
//
// READs are made in chunks; at most `read_depth` of them and kReadChunksInFlightMax chunks' worth of bytes are in
// flight. The next is of the fetch that has the fewest bytes left: a small one waits for a few chunks and not for a
// large one, and of many of one size one is finished after another, so that the first is there early and its landing
// serves the next, still in the cache. Landing is asked for when a fetch's turn has come, not before. Each
// kOldestsTurn-th READ is of the oldest of those that do not wait for memory, so that each is finished when all before
// it are, however many smaller ones come. (Shortest remaining first: Homa, Montazeri et al., SIGCOMM 2018; the oldest's
// share: Ousterhout, USENIX ATC 2021.)
//
// None goes before an older one of its own call, nor asks for landing before it: the layer above may have to keep it,
// and its memory, until the older one is there.
//
// A fetch that ends early (withdrawn, cancelled, failed) is finished and its landing given up only when its READs in
// flight have completed: not before may either side reuse its memory.
//
// Of one that is fetched in parts the layer above hears what has landed as its READs complete, which they do in order.
//
// Owner: the connection machine. Thread: its loop's. Invariants: exactly one kFinish per announcement; exactly one
// Deliver or FetchFailed per announcement that is not refused, and no Landed after it; exactly one Deliver,
// ReleaseLanding or OnLandingFailed per AllocateLanding, if there was one. Errors: a transfer that is in use or out of
// bounds (what an announcement says is valid: it was decoded).

#ifndef VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_H_
#define VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "transport/protocol/action_queue.h"
#include "transport/protocol/actions.h"
#include "transport/protocol/limits.h"
#include "transport/protocol/ring.h"
#include "transport/protocol/slot_table.h"
#include "transport/wire/frame.h"

namespace verbena::protocol {

class RendezvousReceiver {
 public:
  static constexpr uint64_t kOldestsTurn = 8;  // Of so many READs one is the oldest fetch's.

  struct Limits {
    uint64_t message_bytes_max = 0;  // Longer ones are asked about, for the layer above to say why, and never fetched.
    uint32_t read_chunk_bytes = 0;
    uint16_t read_depth = 0;  // READs in flight; at least 1.
  };

  // `epoch` is what the identity blocks must say.
  RendezvousReceiver(const Limits& limits, uint64_t epoch, ActionQueue* actions);

  absl::Status OnAnnounce(const wire::FrameView& frame);
  absl::Status OnWithdraw(const wire::FrameHeader& withdraw);

  void OnVerdict(uint64_t fetch_id, Verdict verdict);
  void OnLanding(uint64_t fetch_id);
  void OnLandingFailed(uint64_t fetch_id);
  // READs complete in the order of posting. False: a READ has failed, and with it the queue pair.
  bool OnReadCompleted(uint64_t fetch_id, bool ok);
  // All of its message has landed, and waits to be looked at.
  bool HasLanded(uint64_t fetch_id) const { return Find(fetch_id, State::kChecking) != SlotQueue::kNone; }
  void OnIdentity(uint64_t fetch_id, bool ok);
  // Ends every fetch of this call.
  void Cancel(uint64_t call_id);

  // Whether there is a READ to be made, perhaps not within the budget yet, or the landing for one to be asked for.
  bool HasPending() const { return !pending_.empty(); }
  // The next PostRead within the budget, or the AllocateLanding that it needs, if there is one. The actions before have
  // been performed: a fetch whose landing is not there by then waits for memory, and others go on.
  std::optional<Action> NextAction();
  // The next answer to an announcement. HasFinish() must hold.
  bool HasFinish() const { return !finishing_.empty(); }
  wire::FrameHeader NextFinish();

  // Why a fetch failed, in words; of a connection that ended, `end`.
  absl::Status ErrorOf(const FetchFailed& failed, const absl::Status& end) const;

  bool empty() const { return table_.empty(); }
  size_t size() const { return table_.size(); }

  // The queue pair is destroyed: no READ is in flight any more. Fetches end as kConnectionEnded.
  void Close();

 private:
  enum class State : uint8_t {
    kOffered,     // The layer above is asked. Woken by OnVerdict.
    kAccepted,    // In pending_, and has no landing. Woken by NextAction.
    kAllocating,  // Woken by OnLanding or OnLandingFailed.
    kReading,     // In pending_ while there are chunks to post. Woken by NextAction, OnReadCompleted.
    kChecking,    // All has landed. Woken by OnIdentity.
    kStopping,    // Ended early; READs are in flight. Woken by OnReadCompleted.
    kFinishing,   // In finishing_ until both gates are open.
  };
  struct Fetch {
    State state = State::kOffered;
    wire::FinishReason reason = wire::FinishReason::kFetched;
    FetchFailure failure = FetchFailure::kNone;  // Any other: this fetch is to end early.
    bool in_parts = false;                       // Landed is to be told.
    bool told = false;                           // It was: the layer above may have acted upon the message.
    uint16_t flags = 0;
    uint32_t transfer = 0;
    uint64_t call_id = 0;
    uint64_t arrival = 0;  // Its number among all that came.
    uint64_t payload_bytes = 0;
    std::vector<wire::Segment> segments;
    size_t segment = 0;           // Where the next READ starts.
    uint64_t segment_offset = 0;  // In bytes.
    uint64_t landing_offset = 0;  // In bytes.
    uint64_t landed_bytes = 0;    // Of READs that have completed.
    uint32_t reads_in_flight = 0;

    uint64_t landing_bytes() const { return payload_bytes + wire::kIdentityBytes; }
    uint64_t bytes_left() const { return landing_bytes() - landing_offset; }  // To be posted.
  };
  struct Read {
    uint32_t fetch;
    uint32_t bytes;
  };

  // The peer must name a free slot.
  absl::Status CheckTransfer(uint32_t transfer) const;
  void CopyAnnouncement(const wire::FrameView& frame, Fetch& fetch);
  uint32_t Find(uint64_t fetch_id, State state) const;
  // Whose turn it is. pending_ is not empty.
  uint32_t Turn() const;
  // Of `first`, which is in pending_, and all others there, the one that goes before the others.
  template <typename GoesBefore>
  uint32_t FirstPending(uint32_t first, GoesBefore goes_before) const;
  PostRead ReadOf(uint32_t index, uint32_t bytes);      // The next of this fetch.
  wire::Identity IdentityOf(const Fetch& fetch) const;  // That it is to have.
  // What the peer is to hear of one that is ended here: `reason`, but of one of which parts were told that it was
  // fetched. Whatever it was about may have been done; what became of that the layer above will say.
  static wire::FinishReason ReasonOf(const Fetch& fetch, wire::FinishReason reason) {
    return fetch.told ? wire::FinishReason::kFetched : reason;
  }
  void Stop(uint32_t index, wire::FinishReason reason, FetchFailure failure);
  // Ends a fetch that was accepted and has no READ in flight.
  void Abandon(uint32_t index);
  void ReportFailure(uint32_t index);
  void Finish(uint32_t index, wire::FinishReason reason);

  const Limits limits_;
  const uint64_t epoch_;
  ActionQueue* const actions_;
  SlotTable<Fetch> table_;
  std::array<uint32_t, kTransfersMax> transfers_;  // The fetch of each transfer slot of the peer, or kNone.
  SlotQueue pending_;                              // In no order: Turn says whose turn it is.
  SlotQueue finishing_;
  Ring<Read> reads_;
  uint64_t arrivals_ = 0;    // Ever.
  uint64_t reads_made_ = 0;  // Ever.
  uint64_t read_bytes_in_flight_ = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_H_
