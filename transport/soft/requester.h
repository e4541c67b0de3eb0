// The requester half of a queue pair: carries out the send queue and completes it, strictly in order.
//
// A message (SEND, WRITE with immediate) is copied into the ring and is complete when the peer has accepted it. READ
// and WRITE are copied directly once every earlier message is accepted, as RC ordering demands, and are complete then.
// Binding and invalidating a window is done in its turn between them: what is sent after a bind finds it done.
// Failed requests complete even when unsignaled.
//
// Owner: the queue pair. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_REQUESTER_H_
#define VERBENA_TRANSPORT_SOFT_REQUESTER_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <optional>

#include "transport/soft/completion_queue.h"
#include "transport/soft/key_table.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/send_queue.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

class Requester {
 public:
  struct Options {
    uint32_t queue_pair_number;
    uint32_t queue_pair_index;
    uint32_t domain;  // Of the queue pair and its local segments.
    bool signal_all;
    ibv_qp_cap capacity;
    const PublishedMemory* own_memory;
    KeyTable* keys;
    CompletionQueue* completions;
  };

  explicit Requester(const Options& options);

  // What Append would say of this request if there were room for it, and how many requests there is room for.
  int Check(const ibv_send_wr& request) const { return queue_.Check(request); }
  uint32_t free_places() const { return queue_.free_places(); }

  // Appends one request. Errors as SendQueue::Append.
  int Append(const ibv_send_wr& request);

  // A fault on purpose: the newest request is not carried out but completes with `status` in its turn.
  void FailNewest(ibv_wc_status status) { queue_.newest().planned_failure = status; }

  // A fault on purpose: while on, nothing completes but by Flush. Requests are carried out.
  void HoldCompletions(bool on) { held_ = on; }

  // Hands over what can be, and completes what is done. False if a request failed (its completion is out) or the link
  // is broken: the queue pair must go to ERR.
  bool Advance(PairLink& link);

  // Before the posting call returns: see SendQueue.
  void KeepInlineBytes() { queue_.KeepInlineBytes(); }

  // Completes everything left: the oldest with `oldest_status`, the rest as flushed.
  void Flush(ibv_wc_status oldest_status);

  bool idle() const { return queue_.empty(); }
  // A completion could not be delivered: its queue has overrun.
  bool lost_completion() const { return lost_completion_; }
  const SendQueue& queue() const { return queue_; }

 private:
  bool TakeAcceptances(PairLink& link);
  bool Retire();
  bool IsComplete(SendEntry& entry) const;
  void Complete(const SendEntry& entry);

  // True if a request was finished or failed, so that there may be something to retire.
  bool Transmit(PairLink& link);
  bool CheckLocal(SendEntry& entry);
  // False while it must wait.
  bool PerformLocally(PairLink& link, SendEntry& entry);
  bool PeerStillCopies(PairLink& link, uint32_t key);
  bool TransmitDirect(PairLink& link, SendEntry& entry);
  bool TransmitMessage(PairLink& link, SendEntry& entry);
  void WriteRecord(PairLink& link, SendEntry& entry, std::byte* record, uint32_t payload_bytes);
  void Fail(SendEntry& entry, WorkOutcome outcome);
  // True if what we wait for changed after the peer may have looked: look once more.
  bool UpdateWatch(PairLink& link);

  const Options options_;
  SendQueue queue_;
  uint64_t last_number_ = 0;                // Of the newest message begun.
  uint64_t accepted_ = 0;                   // Messages the peer has accepted, as last read.
  uint64_t watch_ = 0;                      // As published; 0 = none.
  uint32_t signaled_sent_ = 0;              // Signaled messages in the ring.
  ibv_wc_status refusal_ = IBV_WC_SUCCESS;  // Of the message after accepted_.
  bool blocked_on_acceptance_ = false;      // A one-sided request waits for earlier messages.
  bool blocked_on_space_ = false;
  // Since when the oldest request waits for the peer to stop copying under a key that is invalid already.
  std::optional<std::chrono::steady_clock::time_point> invalidating_since_;
  bool space_wanted_ = false;  // As published.
  bool unpublished_ = false;   // Records are committed that the peer was not told of.
  bool urgent_ = false;        // One of those deserves to wake a peer that waits for solicited completions only.
  bool failed_ = false;        // Nothing is handed over any more.
  bool held_ = false;          // See HoldCompletions.
  bool lost_completion_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_REQUESTER_H_
