#include "transport/soft/requester.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/soft/record.h"
#include "transport/soft/segments.h"

namespace verbena::soft {
namespace {

bool IsMessage(ibv_wr_opcode opcode) { return opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_RDMA_WRITE; }
bool IsWrite(ibv_wr_opcode opcode) { return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM; }

RecordKind KindOf(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND_WITH_IMM:
      return RecordKind::kSendWithImmediate;
    case IBV_WR_SEND_WITH_INV:
      return RecordKind::kSendWithInvalidate;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return RecordKind::kImmediateOfWrite;
    default:
      return RecordKind::kSend;
  }
}

ibv_wc_opcode CompletionOpcode(ibv_wr_opcode opcode) {
  if (opcode == IBV_WR_BIND_MW) return IBV_WC_BIND_MW;
  if (opcode == IBV_WR_LOCAL_INV) return IBV_WC_LOCAL_INV;
  if (opcode == IBV_WR_RDMA_READ) return IBV_WC_RDMA_READ;
  return IsWrite(opcode) ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
}

// What a responder may say about a message. Anything else comes from a broken or malicious peer.
bool IsRefusal(uint32_t status) {
  return status == IBV_WC_RNR_RETRY_EXC_ERR || status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR ||
         status == IBV_WC_REM_OP_ERR;
}

}  // namespace

Requester::Requester(const Options& options)
    : options_(options),
      queue_(options.capacity.max_send_wr, options.capacity.max_send_sge, options.capacity.max_inline_data) {}

int Requester::Append(const ibv_send_wr& request) {
  return queue_.Append(request, options_.signal_all || (request.send_flags & IBV_SEND_SIGNALED) != 0);
}

bool Requester::Advance(PairLink& link) {
  do {
    if (!TakeAcceptances(link) || !Retire()) return false;
  } while (Transmit(link) || UpdateWatch(link));
  return !link.broken();
}

bool Requester::TakeAcceptances(PairLink& link) {
  // The refusal first: it is about the message after the last accepted one, which is published before it.
  uint32_t refusal = link.peer().requests_in.refusal.load();
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

bool Requester::IsComplete(SendEntry& entry) const {
  if (entry.number != 0 && entry.state != SendEntry::State::kDone) {
    if (refusal_ != IBV_WC_SUCCESS && entry.number == accepted_ + 1) {
      entry.outcome.status = refusal_;
      return true;
    }
    return entry.state == SendEntry::State::kSent && entry.number <= accepted_;
  }
  return entry.state == SendEntry::State::kDone;
}

bool Requester::Retire() {
  while (!held_ && !queue_.empty() && IsComplete(queue_.head())) {
    const SendEntry& entry = queue_.head();
    bool ok = entry.outcome.ok();
    if (entry.signaled && entry.state == SendEntry::State::kSent) --signaled_sent_;
    if (entry.signaled || !ok) Complete(entry);
    queue_.PopHead();
    if (!ok) return false;
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
  blocked_on_acceptance_ = blocked_on_space_ = false;
  while (!failed_ && queue_.has_unsent()) {
    SendEntry& entry = queue_.first_unsent();
    if (!CheckLocal(entry)) {
      finished = true;
      break;
    }
    if (IsLocalOperation(entry.opcode)) {
      if (!PerformLocally(link, entry)) break;
      finished = true;
      queue_.AdvanceUnsent();
      continue;
    }
    if (!IsMessage(entry.opcode) || (IsWrite(entry.opcode) && !entry.copied_directly)) {
      if (accepted_ != last_number_) {
        blocked_on_acceptance_ = true;
        break;
      }
      finished = true;
      if (!TransmitDirect(link, entry)) break;
    }
    if (IsMessage(entry.opcode) && !TransmitMessage(link, entry)) break;
    queue_.AdvanceUnsent();
  }
  if (unpublished_) {
    link.requests_out().Publish();
    link.RingReceiver(urgent_ ? News::kImportant : News::kMessage);
    unpublished_ = urgent_ = false;
  }
  return finished;
}

bool Requester::CheckLocal(SendEntry& entry) {
  if (entry.planned_failure != IBV_WC_SUCCESS) {
    Fail(entry, {.status = entry.planned_failure});
    return false;
  }
  if (entry.checked) return true;
  uint32_t access = entry.opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0;
  entry.checked = SegmentsAllowed(*options_.own_memory, options_.domain, entry.segments, access);
  if (!entry.checked) Fail(entry, {.status = IBV_WC_LOC_PROT_ERR});
  return entry.checked;
}

bool Requester::PerformLocally(PairLink& link, SendEntry& entry) {
  KeyUser self = {.domain = options_.domain, .queue_pair = options_.queue_pair_number};
  if (entry.opcode == IBV_WR_BIND_MW) {
    entry.state = SendEntry::State::kDone;
    if (!options_.keys->Bind(entry.binding, self)) Fail(entry, {.status = IBV_WC_MW_BIND_ERR});
    return true;
  }
  if (!invalidating_since_.has_value() && !options_.keys->Invalidate(entry.immediate, self)) {
    Fail(entry, {.status = IBV_WC_LOC_PROT_ERR});
    return true;
  }
  if (PeerStillCopies(link, entry.immediate)) return false;
  entry.state = SendEntry::State::kDone;
  return true;
}

bool Requester::PeerStillCopies(PairLink& link, uint32_t key) {
  if (link.peer().hazard.key.load() != key) {
    invalidating_since_.reset();
    return false;
  }
  auto now = std::chrono::steady_clock::now();
  if (!invalidating_since_.has_value()) invalidating_since_ = now;
  if (now - *invalidating_since_ > kHazardPatience) link.MarkBroken();
  options_.completions->MarkReady(options_.queue_pair_index);  // One slice of a copy takes microseconds.
  return true;
}

bool Requester::TransmitDirect(PairLink& link, SendEntry& entry) {
  WorkOutcome outcome = link.direct()->Copy({
      .direction = IsWrite(entry.opcode) ? DirectMemory::Direction::kWrite : DirectMemory::Direction::kRead,
      .local = entry.segments,
      .remote_address = entry.remote_address,
      .remote_key = entry.remote_key,
      .length = entry.length,
  });
  if (!outcome.ok()) {
    Fail(entry, outcome);
    return false;
  }
  entry.copied_directly = true;
  if (!IsMessage(entry.opcode)) entry.state = SendEntry::State::kDone;
  return true;
}

bool Requester::TransmitMessage(PairLink& link, SendEntry& entry) {
  if (entry.number == 0) entry.number = ++last_number_;
  uint64_t payload_bytes = IsWrite(entry.opcode) ? 0 : entry.length;
  do {
    auto bytes = static_cast<uint32_t>(std::min<uint64_t>(payload_bytes - entry.sent_bytes, kFragmentBytesMax));
    std::byte* record = link.requests_out().Reserve(sizeof(RecordHeader) + bytes);
    if (record == nullptr) {
      blocked_on_space_ = true;
      return false;
    }
    WriteRecord(link, entry, record, bytes);
  } while (entry.sent_bytes < payload_bytes);
  entry.state = SendEntry::State::kSent;
  if (entry.signaled) {
    ++signaled_sent_;
    urgent_ = true;  // Somebody waits for its acceptance.
    if (watch_ <= accepted_) {
      watch_ = entry.number;
      link.own().requests_out.accept_watch.store(watch_, std::memory_order_relaxed);  // Published with the tail.
    }
  }
  urgent_ = urgent_ || entry.solicited;
  return true;
}

void Requester::WriteRecord(PairLink& link, SendEntry& entry, std::byte* record, uint32_t payload_bytes) {
  bool first = entry.sent_bytes == 0;
  bool last = IsWrite(entry.opcode) || entry.sent_bytes + payload_bytes == entry.length;
  RecordHeader header = {
      .kind = KindOf(entry.opcode),
      .flags = static_cast<uint8_t>((first ? kRecordFirst : 0) | (last ? kRecordLast : 0) |
                                    (entry.solicited ? kRecordSolicited : 0)),
      .reads_in_flight = 0,
      .payload_bytes = payload_bytes,
      .message_bytes = entry.length,
      .number = entry.number,
      .immediate = entry.immediate,
      .reserved = 0,
  };
  std::memcpy(record, &header, sizeof(header));
  Gather(entry.segments, entry.sent_bytes, payload_bytes, record + sizeof(header));
  link.requests_out().Commit(sizeof(header) + payload_bytes);
  entry.sent_bytes += payload_bytes;
  unpublished_ = true;
}

void Requester::Fail(SendEntry& entry, WorkOutcome outcome) {
  entry.outcome = outcome;
  entry.state = SendEntry::State::kDone;
  failed_ = true;
}

bool Requester::UpdateWatch(PairLink& link) {
  bool look_again = false;
  RequestSenderLine& line = link.own().requests_out;
  uint64_t watch = watch_ > accepted_ ? watch_ : 0;
  if (watch == 0 && signaled_sent_ != 0) watch = queue_.FirstSignaledAfter(accepted_);
  bool blocked = blocked_on_acceptance_ || (failed_ && accepted_ != last_number_);
  if (watch == 0 && blocked) watch = last_number_;
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
