// What a requester does about requests that it may carry out by itself, all or part of them: copies, or asks the peer.

#include <algorithm>

#include "transport/soft/requester.h"
#include "transport/soft/segments.h"
#include "transport/soft/work_opcodes.h"

namespace verbena::soft {
namespace {

// A violation of the peer's rights, which takes the peer's queue pair out of service too. Or memory that cannot be
// copied any more, which does not say why: a process that lives carries the request out, a dead one is given up in
// time.
bool IsLeftToPeer(ibv_wc_status status) {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_RETRY_EXC_ERR;
}

}  // namespace

// Atomics between processes are the responder's business: only there they are atomic towards its own ones. So is what
// copies nothing, and needs no more than the queue pair's leave.
bool Requester::IsDirect(PairLink& link, const SendEntry& entry) {
  return IsOneSided(entry.opcode) && link.direct() != nullptr && entry.length != 0 &&
         (!IsAtomic(entry.opcode) || link.direct()->same_process());
}

bool Requester::PerformLocally(PairLink& link, SendEntry& entry) {
  KeyUser self = {.domain = options_.domain, .queue_pair = options_.queue_pair_number};
  if (entry.opcode == IBV_WR_BIND_MW) {
    if (!options_.keys->Bind(entry.binding, self)) return Fail(entry, {.status = IBV_WC_MW_BIND_ERR});
  } else {
    if (!invalidating_since_.has_value() && !options_.keys->Invalidate(entry.immediate, self)) {
      return Fail(entry, {.status = IBV_WC_LOC_PROT_ERR});
    }
    if (PeerStillCopies(link, entry.immediate)) return false;
  }
  entry.state = SendEntry::State::kDone;
  return true;
}

bool Requester::PeerStillCopies(PairLink& link, uint32_t key) {
  std::optional<Copier> peer = link.copier();
  if (!peer.has_value() || peer->hazard->key.load() != key) {
    invalidating_since_.reset();
    return false;
  }
  auto now = std::chrono::steady_clock::now();
  if (!invalidating_since_.has_value()) invalidating_since_ = now;
  if (now - *invalidating_since_ > kHazardPatience) link.MarkBroken();
  options_.completions->MarkReady(options_.queue_pair_index);  // One slice of a copy takes microseconds.
  return true;
}

bool Requester::ExecuteDirectly(PairLink& link, SendEntry& entry) {
  blocked_on_answer_ = entry.answers_due != 0;
  blocked_on_acceptance_ = accepted_ < last_in_order_;
  if (blocked_on_answer_ || blocked_on_acceptance_) return false;
  WorkOutcome outcome = CopyDirectly(link, entry);
  if (IsLeftToPeer(outcome.status)) {
    LeaveToPeer(entry);
    return true;
  }
  if (!outcome.ok()) return Fail(entry, outcome);
  if (unfinished_copy_) return false;
  entry.direct_copy = SendEntry::DirectCopy::kDone;
  if (entry.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) entry.state = SendEntry::State::kDone;
  return true;
}

// As a new request, for all of it, whatever is here of it.
void Requester::LeaveToPeer(SendEntry& entry) {
  entry.direct_copy = SendEntry::DirectCopy::kNotAllowed;
  entry.fetched_bytes = entry.received_bytes = 0;
  entry.number = 0;
}

bool Requester::MayAsk(PairLink& link, const SendEntry& entry) const {
  return IsRead(entry.opcode) && link.asks_for_reads() && read_depth_ != 0 && !entry.planned.any() &&
         options_.completions->IsPolledSteadily() && link.ReceiverIsPolled() &&
         !link.direct()->IsMapped({.address = entry.remote_address, .length = entry.length}) &&
         asking_.MayAsk(ReadAsking::Clock::now());
}

// What stands before it in the ring is carried out before it, so it need not wait for that. But a message that went
// ahead, for which no receive is posted, would hold it up: behind such a one nothing is asked for.
bool Requester::AskOfPeer(PairLink& link, SendEntry& entry) {
  if (accepted_ < last_ahead_) {
    blocked_on_answer_ = entry.answers_due != 0;
    unfinished_copy_ = !blocked_on_answer_ && asking_.MessageMayBeAcceptedSoon(ReadAsking::Clock::now());
    return !blocked_on_answer_ && !unfinished_copy_ && ExecuteDirectly(link, entry);
  }
  if (entry.fetched_bytes == 0) {
    WorkOutcome outcome = link.direct()->CheckRead(entry.remote_key, {entry.remote_address, entry.length});
    if (!outcome.ok()) {
      LeaveToPeer(entry);
      return true;
    }
  }
  while (entry.fetched_bytes < entry.length) {
    if (!AskForPart(link, entry)) return false;
  }
  entry.state = SendEntry::State::kSent;
  if (entry.signaled) WatchAcceptanceOf(link, entry);
  return true;
}

bool Requester::AskForPart(PairLink& link, SendEntry& entry) {
  const uint64_t bytes = asking_.NextPart(entry.length, entry.length - entry.fetched_bytes);
  blocked_on_answer_ = bytes == 0 || answers_.in_flight() >= read_depth_;
  if (blocked_on_answer_) return false;
  const RequestWriter::Part part = {.number = last_number_ + 1, .offset = entry.fetched_bytes, .bytes = bytes};
  blocked_on_space_ =
      writer_.Write(link, entry, part, answers_.in_flight() + 1, &ring_budget_) != RequestWriter::Written::kWholly;
  if (blocked_on_space_) return false;
  entry.number = ++last_number_;
  answers_.Expect(entry, bytes);
  asking_.OnAsked(bytes, ReadAsking::Clock::now(), options_.completions->polls());
  return true;
}

void Requester::CountAnswers(PairLink& link, uint32_t answers) {
  if (!link.asks_for_reads()) return;
  asking_.OnAnswered(answers, link.patience_with_reads(), ReadAsking::Clock::now(), options_.completions->polls());
}

WorkOutcome Requester::CopyDirectly(PairLink& link, SendEntry& entry) {
  DirectMemory& memory = *link.direct();
  if (IsAtomic(entry.opcode)) {
    AtomicOperation operation = {
        .compares = entry.opcode == IBV_WR_ATOMIC_CMP_AND_SWP, .operand = entry.operand, .swap = entry.swap};
    uint64_t before = 0;
    WorkOutcome outcome = memory.Execute(operation, entry.remote_address, entry.remote_key, &before);
    if (outcome.ok()) Scatter(reinterpret_cast<std::byte*>(&before), entry.segments, 0, sizeof(before));
    return outcome;
  }
  while (entry.fetched_bytes < entry.length) {
    uint64_t bytes = copy_pace_.NextSlice(entry.length - entry.fetched_bytes);
    unfinished_copy_ = bytes == 0;
    if (unfinished_copy_) return {};
    WorkOutcome outcome = memory.Copy({
        .direction = IsWrite(entry.opcode) ? DirectMemory::Direction::kWrite : DirectMemory::Direction::kRead,
        .local = entry.segments,
        .remote_address = entry.remote_address,
        .remote_key = entry.remote_key,
        .length = entry.length,
        .offset = entry.fetched_bytes,
        .part_length = bytes,
    });
    if (!outcome.ok()) return outcome;
    entry.fetched_bytes += bytes;
    entry.received_bytes = entry.fetched_bytes;
    copy_pace_.Copied(bytes, link.requests_in().HasMore() || options_.completions->ready().AnyReady());
  }
  return {};
}

}  // namespace verbena::soft
