// The requester half of a queue pair: carries out the send queue, and completes it strictly in order.
//
// A request goes into the ring, and is complete when the peer has accepted it, or, a READ or atomic, answered it. Where
// the peer's memory can be copied directly, a READ or WRITE is copied by ourselves once every earlier request is
// accepted, as RC ordering demands, and is complete then. A READ of a peer that polls is asked of it all the same,
// since that is quicker, in parts that stand in the ring as READs of their own (see read_asking.h). One that the peer's
// table of keys does not allow goes into the ring all the same: the peer refuses it by itself, and its queue pair fails
// as it must. So does one whose peer has closed or can be copied from no more: what is in the ring is carried out or
// waits until the queue pair gives the peer up (see peer_patience.h). Binding and invalidating a window is done in its
// turn between them: what is sent after a bind finds it done. Failed requests complete even when unsignaled.
//
// At most `read_depth` READs and atomics are in the ring without an answer; those behind them wait, and everything
// behind those. A fenced request waits until there are none.
//
// But a SEND that is not fenced waits for no READ that we copy by ourselves or ask for, which RC promises nobody: it
// goes ahead of those that are under way so or wait for their turn. A small message is not late because a large one is
// fetched. Its completion keeps its place behind theirs.
//
// Owner: the queue pair. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_REQUESTER_H_
#define VERBENA_TRANSPORT_SOFT_REQUESTER_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <optional>

#include "transport/soft/answer_reader.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/copy_pace.h"
#include "transport/soft/key_table.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/read_asking.h"
#include "transport/soft/request_writer.h"
#include "transport/soft/send_queue.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

class Requester {
 public:
  struct Options {
    uint32_t queue_pair_number;
    uint32_t queue_pair_index;
    uint32_t domain;                // Of the queue pair and its local segments.
    uint32_t answer_target_access;  // What the local segments of a READ or atomic must allow.
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
  // As SendQueue::Reserve.
  bool Reserve(size_t count) { return queue_.Reserve(count); }

  // Appends one request. Errors as SendQueue::Append.
  int Append(const ibv_send_wr& request);

  // Of the request that was appended last.
  PlannedFaults& faults_of_newest() { return queue_.newest().planned; }

  // A fault on purpose: while on, nothing completes but by Flush. Requests are carried out.
  void HoldCompletions(bool on) { held_ = on; }

  // Whether to look what the peer has accepted: a look costs the peer's next acceptance the cache line.
  enum class Look {
    kAlways,
    kIfWanted,  // Only if a completion, room or a turn waits for it; then also before anything else.
  };

  // Hands over what can be, and completes what is done. False if a request failed (its completion is out) or the link
  // is broken: the queue pair must go to ERR. Copies a bounded number of bytes: see unfinished_copy.
  bool Advance(PairLink& link, Look look, CopyPace::Occasion occasion);
  // Completes what the peer has carried out, and no more. False as Advance.
  bool TakeIn(PairLink& link);

  // The last Advance stopped in a long copy that nothing but another Advance takes further.
  bool unfinished_copy() const { return unfinished_copy_; }

  // Before the posting call returns: see SendQueue.
  void KeepInlineBytes() { queue_.KeepInlineBytes(); }

  // Completes everything left: the oldest with `oldest_status`, the rest as flushed.
  void Flush(ibv_wc_status oldest_status);

  // After Pause nothing is begun any more, what is begun is finished: then it is drained.
  void Pause() { paused_ = true; }
  void Resume() { paused_ = false; }
  bool drained() const { return queue_.nothing_begun() && ahead_ == 0; }

  void set_read_depth(uint8_t depth) { read_depth_ = depth; }
  bool idle() const { return queue_.empty(); }
  // Only the peer can take the oldest request further.
  bool awaits_peer() const { return !queue_.empty() && !unfinished_copy_ && !(paused_ && drained()); }
  // A completion could not be delivered: its queue has overrun.
  bool lost_completion() const { return lost_completion_; }
  const SendQueue& queue() const { return queue_; }

 private:
  bool WantsAcceptances() const;
  bool TakeAcceptances(PairLink& link);
  bool Retire();
  // Of the oldest request.
  bool HeadIsComplete(SendEntry& head) const;
  bool HeadIsRefused(const SendEntry& head) const;
  void Complete(const SendEntry& entry);

  // True if a request was finished or failed, so that there may be something to retire.
  bool Transmit(PairLink& link);
  // These return true if the request is handed over and the next one's turn has come.
  bool TransmitOne(PairLink& link, SendEntry& entry);
  // There is a direct way, and it was not found forbidden. Then these either do it, or find that it is forbidden.
  bool ExecuteDirectly(PairLink& link, SendEntry& entry);
  bool AskOfPeer(PairLink& link, SendEntry& entry);
  bool TransmitInRing(PairLink& link, SendEntry& entry);

  // SENDs ahead of the READs that stand first, for as long as there is room in the ring.
  void TransmitAhead(PairLink& link);
  bool TransmitOneAhead(PairLink& link, SendEntry& entry);  // True if it is handed over, wholly.

  bool PerformLocally(PairLink& link, SendEntry& entry);
  bool PeerStillCopies(PairLink& link, uint32_t key);

  WorkOutcome CheckLocal(const SendEntry& entry) const;
  // Whether we may copy from and into the peer's memory for this one.
  static bool IsDirect(PairLink& link, const SendEntry& entry);
  static bool MayBeOvertaken(PairLink& link, const SendEntry& entry);
  // Whether what is missing of it may be asked of the peer, which has time, rather than copied.
  bool MayAsk(PairLink& link, const SendEntry& entry) const;
  bool AskForPart(PairLink& link, SendEntry& entry);
  static void LeaveToPeer(SendEntry& entry);
  void CountAnswers(PairLink& link, uint32_t answers);
  WorkOutcome CopyDirectly(PairLink& link, SendEntry& entry);
  bool Fail(SendEntry& entry, WorkOutcome outcome);  // Returns false.
  void WatchAcceptanceOf(PairLink& link, const SendEntry& entry);
  // True if what we wait for changed after the peer may have looked: look once more.
  bool UpdateWatch(PairLink& link);

  const Options options_;
  SendQueue queue_;
  RequestWriter writer_;
  AnswerReader answers_;
  uint64_t last_number_ = 0;    // Of the newest request begun.
  uint64_t last_in_order_ = 0;  // The highest of those handed over with everything before them.
  uint32_t ahead_ = 0;          // In the ring, with one in front of them that is not handed over.
  uint64_t last_ahead_ = 0;     // The number of the newest that was.
  uint64_t accepted_ = 0;       // Requests the peer has accepted, as last read.
  uint64_t watch_ = 0;          // As published; 0 = none.
  CopyPace copy_pace_;
  uint64_t ring_budget_ = 0;                // Bytes that may yet be written into the ring in this Advance.
  ibv_wc_status refusal_ = IBV_WC_SUCCESS;  // Of the request after accepted_.
  uint8_t read_depth_ = 1;
  bool blocked_on_acceptance_ = false;  // A direct copy waits for earlier requests.
  bool blocked_on_answer_ = false;      // A request waits for the answers to earlier ones, or to parts of its own.
  bool blocked_on_space_ = false;
  // Since when the oldest request waits for the peer to stop copying under a key that is invalid already.
  std::optional<std::chrono::steady_clock::time_point> invalidating_since_;
  bool space_wanted_ = false;  // As published.
  bool held_up_ = false;       // As published.
  bool unfinished_copy_ = false;
  bool paused_ = false;
  bool failed_ = false;  // Nothing is handed over any more.
  bool over_ = false;    // A request completed as failed: what is behind it is flushed, whatever the peer says of it.
  bool held_ = false;    // See HoldCompletions.
  bool lost_completion_ = false;
  ReadAsking asking_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_REQUESTER_H_
