#include "transport/soft/requester.h"

#include <algorithm>
#include <utility>

#include "transport/soft/record.h"
#include "transport/soft/segments.h"
#include "transport/soft/work_opcodes.h"

namespace verbena::soft {
namespace {

// One turn of writing into the ring: the other queue pairs of a polling thread wait no longer than this takes.
constexpr uint64_t kRingBytesPerTurn = 1024 * 1024;

ibv_wc_opcode CompletionOpcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

// What a responder may say about a request. Anything else comes from a broken or malicious peer.
bool IsRefusal(uint32_t status) {
  return status == IBV_WC_RNR_RETRY_EXC_ERR || status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR ||
         status == IBV_WC_REM_OP_ERR;
}

// As one record, or as two if the end of the ring is between: these take a cache line more at most.
bool IsShortSend(PairLink& link, const SendEntry& entry) {
  return (entry.opcode == IBV_WR_SEND || entry.opcode == IBV_WR_SEND_WITH_IMM) &&
         entry.length <= FragmentBytesMax(link.requests_out());
}

bool MayOvertake(PairLink& link, const SendEntry& entry) {
  return IsShortSend(link, entry) && !entry.fenced && !entry.planned.any() &&
         link.requests_out().HasRoom(kRecordPrefixBytesMax + entry.length + kCacheLineBytes);
}

}  // namespace

Requester::Requester(const Options& options)
    : options_(options),
      queue_(options.capacity.max_send_wr, options.capacity.max_send_sge, options.capacity.max_inline_data) {}

int Requester::Append(const ibv_send_wr& request) {
  return queue_.Append(request, options_.signal_all || (request.send_flags & IBV_SEND_SIGNALED) != 0);
}

// A READ that we copy by ourselves, or ask for in parts, has no place of its own among what the peer accepts.
bool Requester::MayBeOvertaken(PairLink& link, const SendEntry& entry) {
  return entry.opcode == IBV_WR_RDMA_READ && IsDirect(link, entry) &&
         entry.direct_copy == SendEntry::DirectCopy::kNotDone;
}

bool Requester::Advance(PairLink& link, Look look, CopyPace::Occasion occasion) {
  copy_pace_.BeginTurn(occasion);
  ring_budget_ = kRingBytesPerTurn;
  for (bool looks = look == Look::kAlways || WantsAcceptances();; looks = true) {
    if (looks && !TakeIn(link)) return false;
    if (!Transmit(link) && !UpdateWatch(link)) return !link.broken();
  }
}

// Half of the send queue is left for those who post while nobody looks.
bool Requester::WantsAcceptances() const {
  bool blocked = blocked_on_acceptance_ || blocked_on_answer_ || blocked_on_space_ || unfinished_copy_;
  return queue_.signaled_handed_over() != 0 || answers_.in_flight() != 0 || blocked || paused_ || failed_ ||
         queue_.free_places() <= queue_.capacity() / 2;
}

bool Requester::TakeIn(PairLink& link) {
  if (over_ || !TakeAcceptances(link)) return false;
  const uint32_t answers_due = answers_.in_flight();
  answers_.TakeIn(link, queue_);  // After the acceptances: the answers that they count are there.
  if (answers_.in_flight() < answers_due) CountAnswers(link, answers_due - answers_.in_flight());
  return Retire();
}

bool Requester::TakeAcceptances(PairLink& link) {
  // The refusal first: it is about the request after the last accepted one, which is published before it.
  uint32_t refusal = link.peer().state.refusal.load();
  uint64_t accepted = link.peer().requests_in.accepted.load();
  if (accepted == accepted_ && refusal == 0) return true;
  bool possible = accepted >= accepted_ && accepted <= last_number_ &&
                  (refusal == 0 || (IsRefusal(refusal) && accepted < last_number_));
  if (!possible) {
    link.MarkBroken();
    return false;
  }
  accepted_ = accepted;
  refusal_ = static_cast<ibv_wc_status>(refusal);
  return true;
}

bool Requester::HeadIsComplete(SendEntry& head) const {
  if (head.state == SendEntry::State::kDone) return true;
  if (HeadIsRefused(head)) {
    head.outcome.status = refusal_;
    return true;
  }
  if (head.number == 0) return false;
  if (head.state != SendEntry::State::kSent) return false;
  return WantsAnswer(head.opcode) ? head.answered : head.number <= accepted_;
}

// The head is refused itself, or overtaken by what is: then nothing behind it can complete.
bool Requester::HeadIsRefused(const SendEntry& head) const {
  return refusal_ != IBV_WC_SUCCESS && (head.state == SendEntry::State::kQueued || head.number > accepted_);
}

bool Requester::Retire() {
  while (!held_ && !queue_.empty() && HeadIsComplete(queue_.head())) {
    const SendEntry& entry = queue_.head();
    bool ok = entry.outcome.ok();
    if (entry.signaled || !ok) Complete(entry);
    queue_.PopHead();
    over_ = !ok;
    if (over_) return false;
  }
  return true;
}

void Requester::Complete(const SendEntry& entry) {
  ibv_wc completion = {};
  completion.wr_id = entry.wr_id;
  completion.status = entry.outcome.status;
  completion.vendor_err = entry.outcome.vendor_error;
  completion.opcode = CompletionOpcode(entry.opcode);
  completion.byte_len = static_cast<uint32_t>(entry.length);
  completion.qp_num = options_.queue_pair_number;
  if (!options_.completions->Push(completion, false)) lost_completion_ = true;
}

bool Requester::Transmit(PairLink& link) {
  bool finished = false;
  TransmitAhead(link);
  blocked_on_acceptance_ = blocked_on_answer_ = blocked_on_space_ = unfinished_copy_ = false;
  while (!failed_ && queue_.has_unsent()) {
    SendEntry& entry = queue_.first_unsent();
    if (paused_ && !entry.begun() && ahead_ == 0) break;
    const bool went_ahead = entry.state == SendEntry::State::kSent;
    bool handed_over = went_ahead || TransmitOne(link, entry);
    finished = finished || entry.state == SendEntry::State::kDone;
    if (!handed_over) break;
    if (went_ahead) --ahead_;
    last_in_order_ = std::max(last_in_order_, entry.number);
    queue_.AdvanceUnsent();
  }
  writer_.Publish(link);
  return finished;
}

void Requester::TransmitAhead(PairLink& link) {
  if (failed_ || paused_ || !queue_.has_unsent() || !MayBeOvertaken(link, queue_.first_unsent())) return;
  for (SendEntry* entry = queue_.next_ahead(); entry != nullptr; entry = queue_.next_ahead()) {
    if (!MayBeOvertaken(link, *entry) && !TransmitOneAhead(link, *entry)) break;
    queue_.PassAhead();
  }
  writer_.Publish(link);  // Before anything is copied.
}

bool Requester::TransmitOneAhead(PairLink& link, SendEntry& entry) {
  if (!MayOvertake(link, entry) || !CheckLocal(entry).ok()) return false;
  entry.number = last_number_ + 1;
  uint64_t budget = entry.length;
  if (writer_.Write(link, entry, RequestWriter::Whole(entry), 0, &budget) != RequestWriter::Written::kWholly) {
    entry.number = 0;
    return false;
  }
  last_number_ = entry.number;
  entry.state = SendEntry::State::kSent;
  ++ahead_;
  copy_pace_.OnMessage();
  last_ahead_ = entry.number;
  if (link.asks_for_reads()) asking_.OnMessage(ReadAsking::Clock::now());
  if (entry.signaled) writer_.MarkImportant();
  return true;
}

bool Requester::TransmitOne(PairLink& link, SendEntry& entry) {
  const PlannedFaults& planned = entry.planned;
  if (planned.failure != IBV_WC_SUCCESS) return Fail(entry, {.status = planned.failure});
  if (planned.bytes_per_turn != 0) {
    copy_pace_.Limit(planned.bytes_per_turn);
    ring_budget_ = std::min<uint64_t>(ring_budget_, planned.bytes_per_turn);
  }
  if (planned.drops_empty && entry.opcode == IBV_WR_SEND && entry.length == 0) {
    entry.state = SendEntry::State::kDone;
    return true;
  }
  if (!entry.checked) {
    if (WorkOutcome outcome = CheckLocal(entry); !outcome.ok()) return Fail(entry, outcome);
    entry.checked = true;
  }
  blocked_on_answer_ = entry.fenced && !entry.begun() && answers_.in_flight() != 0;
  if (blocked_on_answer_) return false;
  if (IsLocalOperation(entry.opcode)) return PerformLocally(link, entry);
  if (IsDirect(link, entry) && entry.direct_copy == SendEntry::DirectCopy::kNotDone) {
    if (!(MayAsk(link, entry) ? AskOfPeer(link, entry) : ExecuteDirectly(link, entry))) return false;
    if (entry.state != SendEntry::State::kQueued) return true;
  }
  return TransmitInRing(link, entry);
}

WorkOutcome Requester::CheckLocal(const SendEntry& entry) const {
  if (entry.is_inline) return {};
  if (IsAtomic(entry.opcode) && entry.length != kAtomicBytes) return {.status = IBV_WC_LOC_LEN_ERR};
  uint32_t access = WantsAnswer(entry.opcode) ? options_.answer_target_access : 0;
  bool allowed = SegmentsAllowed(*options_.own_memory, options_.domain, entry.segments, access);
  return {.status = allowed ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR};
}

bool Requester::TransmitInRing(PairLink& link, SendEntry& entry) {
  bool wants_answer = WantsAnswer(entry.opcode);
  if (entry.number == 0) {
    if (wants_answer && read_depth_ == 0) return Fail(entry, {.status = IBV_WC_LOC_QP_OP_ERR});
    blocked_on_answer_ = wants_answer && answers_.in_flight() >= read_depth_;
    if (blocked_on_answer_) return false;
    entry.number = ++last_number_;
  }
  auto written = writer_.Write(link, entry, RequestWriter::Whole(entry), wants_answer ? answers_.in_flight() + 1 : 0,
                               &ring_budget_);
  blocked_on_space_ = written == RequestWriter::Written::kNoRoom;
  unfinished_copy_ = written == RequestWriter::Written::kThisTurn;
  if (written != RequestWriter::Written::kWholly) return false;
  entry.state = SendEntry::State::kSent;
  if (wants_answer) answers_.Expect(entry, entry.length);
  if (entry.signaled) WatchAcceptanceOf(link, entry);
  return true;
}

void Requester::WatchAcceptanceOf(PairLink& link, const SendEntry& entry) {
  if (!IsOneSided(entry.opcode)) writer_.MarkImportant();  // Somebody waits for its acceptance.
  if (watch_ > accepted_) return;
  watch_ = entry.number;
  link.own().requests_out.accept_watch.store(watch_, std::memory_order_relaxed);  // Published with the tail.
}

bool Requester::Fail(SendEntry& entry, WorkOutcome outcome) {
  entry.outcome = outcome;
  entry.state = SendEntry::State::kDone;
  failed_ = true;
  return false;
}

bool Requester::UpdateWatch(PairLink& link) {
  bool look_again = false;
  RequestSenderLine& line = link.own().requests_out;
  uint64_t watch = watch_ > accepted_ ? watch_ : 0;
  if (watch == 0 && queue_.signaled_handed_over() != 0) watch = queue_.FirstSignaledAfter(accepted_);
  uint64_t awaited = failed_ || paused_ || blocked_on_acceptance_ ? last_in_order_ : 0;
  if (watch == 0 && awaited > accepted_) watch = awaited;
  if (watch != watch_) {
    line.accept_watch.store(watch);
    look_again = watch != 0;
    watch_ = watch;
  }
  if (blocked_on_space_ != space_wanted_) {
    line.ring.wants_space.store(blocked_on_space_ ? 1 : 0);
    look_again = look_again || blocked_on_space_;
    space_wanted_ = blocked_on_space_;
  }
  bool held_up = failed_ || paused_ || blocked_on_acceptance_ || blocked_on_answer_;
  if (held_up != held_up_) {
    line.held_up.store(held_up ? 1 : 0);
    look_again = look_again || held_up;
    held_up_ = held_up;
  }
  return look_again;
}

void Requester::Flush(ibv_wc_status oldest_status) {
  if (std::exchange(held_, false)) Retire();  // What was carried out succeeded.
  failed_ = true;
  for (ibv_wc_status status = oldest_status; !queue_.empty(); status = IBV_WC_WR_FLUSH_ERR) {
    SendEntry& entry = queue_.head();
    entry.outcome = {.status = status};
    Complete(entry);
    queue_.PopHead();
  }
}

}  // namespace verbena::soft
