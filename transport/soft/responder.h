// The responder half of a queue pair: takes requests out of the ring, strictly in order, and accepts or refuses them.
// Messages go into posted receives; one-sided requests are carried out by a OneSidedResponder.
//
// A message for which no receive is posted stays in the ring, and the ring behind it; it is tried again when one is
// posted. A sender that is less patient than for ever gets its refusal (receiver not ready) when its patience is over:
// at once for rnr_retry 0, else after that many times the minimum RNR timer, noticed at the next poll after that.
//
// Owner: the queue pair. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_RESPONDER_H_
#define VERBENA_TRANSPORT_SOFT_RESPONDER_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <optional>

#include "transport/soft/completion_queue.h"
#include "transport/soft/key_table.h"
#include "transport/soft/one_sided_responder.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/queue_pair_faults.h"
#include "transport/soft/receive_queue.h"
#include "transport/soft/record.h"
#include "transport/soft/shared_receive_queue.h"

namespace verbena::soft {

class Responder {
 public:
  struct Options {
    uint32_t queue_pair_number;
    uint32_t queue_pair_index;
    uint32_t receive_domain;  // Of the segments of receives: the shared receive queue's, or the queue pair's.
    uint32_t domain;          // Of the queue pair.
    uint32_t receives_max;    // Of the own queue, if there is no shared one.
    uint32_t segments_max;
    SharedReceiveQueue* shared_receives;  // Or null.
    const PublishedMemory* own_memory;
    KeyTable* keys;
    CompletionQueue* completions;
  };

  explicit Responder(const Options& options);

  // Appends to the own receive queue. Errors as ReceiveQueue::Push.
  int Append(const ibv_recv_wr& request) { return receives_.Push(request); }

  // Takes in everything up to the reader's last Refresh. False if a request was refused as this queue pair's fault, or
  // as a violation of its rights, or the link is broken: the queue pair must go to ERR. A long answer is written in
  // turns: see unfinished_answer.
  bool Advance(PairLink& link);

  // The last Advance stopped in a long answer that nothing but another Advance takes further.
  bool unfinished_answer() const { return unfinished_answer_; }
  // The asynchronous event that tells of a one-sided request that was refused.
  std::optional<ibv_event_type> violation() const { return violation_; }
  OneSidedResponder& one_sided() { return one_sided_; }

  // Completes the receive in use and the own queue's as flushed.
  void Flush();

  // A message waits for a receive.
  bool parked() const { return parked_since_.has_value(); }
  // And its sender waits for a limited time: another Advance is needed when that is over.
  bool parked_for_a_time() const { return parked() && sender_is_impatient_; }
  bool lost_completion() const { return lost_completion_; }
  // Faults on purpose, or null; owned by the queue pair.
  void set_faults(QueuePairFaults* faults) { faults_ = faults; }
  void set_min_rnr_timer(uint8_t code) { min_rnr_timer_ = code; }
  uint8_t min_rnr_timer() const { return min_rnr_timer_; }
  ReceiveWaiter waiter() const { return {options_.completions, options_.queue_pair_index}; }

 private:
  enum class Step { kContinue, kWait, kFail };

  Step TakeRecord(PairLink& link);
  // False if it is no record that may follow the last one.
  bool ReadRecord(PairLink& link, RequestRecord* record) const;
  bool IsPossible(const RequestRecord& record, PairLink& link) const;
  bool ContinuesRequest(const RequestRecord& record) const;
  Step BeginRequest(PairLink& link, const RequestRecord& record);
  Step TakePayload(PairLink& link, const RequestRecord& record);
  Step AnswerRequest(PairLink& link);
  void Consume(PairLink& link, const RequestRecord& record);
  bool TakeReceive();
  // What is wrong with the receive for this message, and how the sender hears of it.
  std::optional<std::pair<ibv_wc_status, ibv_wc_status>> FindFault(const RecordHeader& header) const;
  void FinishRequest(PairLink& link, const RecordHeader& header);
  void CompleteReceive(PairLink& link, const RecordHeader& header);
  Step NotReady(PairLink& link);
  Step RefuseOneSided(PairLink& link, ibv_wc_status at_sender);
  void Refuse(PairLink& link, ibv_wc_status at_sender);
  void Publish(PairLink& link);
  void AnswerProbe(PairLink& link);
  void Complete(ibv_wc& completion, bool solicited);  // Fills in what all have in common.

  const Options options_;
  OneSidedResponder one_sided_;
  ReceiveQueue receives_;
  uint64_t accepted_ = 0;  // Requests.
  uint64_t published_accepted_ = 0;
  uint64_t answered_probe_ = 0;
  uint64_t unpublished_bytes_ = 0;  // Consumed from the ring; the sender was not told.
  bool in_request_ = false;
  bool answering_ = false;  // The request in progress is a READ or atomic; its record is in the ring still.
  bool receive_in_use_ = false;
  uint64_t received_bytes_ = 0;  // Of the request in progress.
  RequestRecord request_ = {};   // Its first record.
  ReceiveRequest receive_;       // Where the message in progress goes.
  std::optional<std::chrono::steady_clock::time_point> parked_since_;
  uint8_t min_rnr_timer_ = 0;  // InfiniBand's code.
  bool unfinished_answer_ = false;
  std::optional<ibv_event_type> violation_;
  QueuePairFaults* faults_ = nullptr;
  bool sender_is_impatient_ = false;  // The sender of the message that is parked.
  bool refused_ = false;              // Nothing is taken in any more.
  bool lost_completion_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RESPONDER_H_
