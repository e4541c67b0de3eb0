// What a requester does about requests that it may carry out by itself, all or part of them.

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
  blocked_on_acceptance_ = accepted_ < last_in_order_;
  if (blocked_on_acceptance_) return false;
  WorkOutcome outcome = CopyDirectly(link, entry);
  if (IsLeftToPeer(outcome.status)) {
    entry.direct_copy = SendEntry::DirectCopy::kNotAllowed;
    return true;
  }
  if (!outcome.ok()) return Fail(entry, outcome);
  if (unfinished_copy_) return false;
  entry.direct_copy = SendEntry::DirectCopy::kDone;
  if (entry.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) entry.state = SendEntry::State::kDone;
  return true;
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
  while (entry.copied_bytes < entry.length) {
    uint64_t bytes = copy_pace_.NextSlice(entry.length - entry.copied_bytes);
    unfinished_copy_ = bytes == 0;
    if (unfinished_copy_) return {};
    WorkOutcome outcome = memory.Copy({
        .direction = IsWrite(entry.opcode) ? DirectMemory::Direction::kWrite : DirectMemory::Direction::kRead,
        .local = entry.segments,
        .remote_address = entry.remote_address,
        .remote_key = entry.remote_key,
        .length = entry.length,
        .offset = entry.copied_bytes,
        .part_length = bytes,
    });
    if (!outcome.ok()) return outcome;
    entry.copied_bytes += bytes;
    copy_pace_.Copied(bytes, link.requests_in().HasMore() || options_.completions->ready().AnyReady());
  }
  return {};
}

}  // namespace verbena::soft
