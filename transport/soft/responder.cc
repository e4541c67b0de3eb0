#include "transport/soft/responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/soft/rnr_timer.h"
#include "transport/soft/segments.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kRnrRetryForEver = 7;

// A sender of a long message hears of free space this often, so that it refills the ring while we empty it.
constexpr uint64_t kPublishBytes = kRingBytes / 8;

bool HasPayload(RecordKind kind) { return kind != RecordKind::kImmediateOfWrite; }

}  // namespace

Responder::Responder(const Options& options)
    : options_(options), receives_(options.receives_max, options.segments_max) {}

bool Responder::Advance(PairLink& link) {
  if (refused_) return true;
  Step step = Step::kContinue;
  while (step == Step::kContinue && link.requests_in().available() != 0) step = TakeRecord(link);
  if (unpublished_bytes_ != 0 || accepted_ != published_accepted_) Publish(link);
  return step != Step::kFail && !link.broken();
}

Responder::Step Responder::TakeRecord(PairLink& link) {
  RingReader& reader = link.requests_in();
  RecordHeader header;
  std::memcpy(&header, reader.Peek(), sizeof(header));
  if (!IsPossible(header, reader.available())) {
    link.MarkBroken();
    return Step::kFail;
  }
  if (!in_message_) {
    if (!TakeReceive()) return NotReady(link);
    if (!BeginMessage(link, header)) return Step::kFail;
  }
  Scatter(reader.Peek() + sizeof(header), receive_.used_segments(), received_bytes_, header.payload_bytes);
  received_bytes_ += header.payload_bytes;
  size_t bytes = sizeof(header) + header.payload_bytes;
  reader.Consume(bytes);
  unpublished_bytes_ += RecordBytes(bytes);
  if ((header.flags & kRecordLast) != 0) FinishMessage(link, header);
  if (unpublished_bytes_ >= kPublishBytes) Publish(link);
  return Step::kContinue;
}

bool Responder::IsPossible(const RecordHeader& header, size_t available) const {
  bool first = (header.flags & kRecordFirst) != 0;
  bool last = (header.flags & kRecordLast) != 0;
  bool known = header.kind >= RecordKind::kSend && header.kind <= RecordKind::kImmediateOfWrite;
  bool whole = header.payload_bytes <= kFragmentBytesMax &&
               RecordBytes(sizeof(header) + header.payload_bytes) <= available &&
               header.message_bytes <= kMessageBytesMax;
  if (!known || !whole || (header.flags & ~kRecordFlags) != 0 || first == in_message_ ||
      header.number != accepted_ + 1) {
    return false;
  }
  if (!HasPayload(header.kind)) return first && last && header.payload_bytes == 0;
  uint64_t received = in_message_ ? received_bytes_ : 0;
  bool same_message = !in_message_ || (header.kind == message_kind_ && header.message_bytes == message_bytes_);
  return same_message && header.payload_bytes <= header.message_bytes - received &&
         last == (received + header.payload_bytes == header.message_bytes);
}

bool Responder::TakeReceive() {
  return options_.shared_receives != nullptr ? options_.shared_receives->Take(&receive_, waiter())
                                             : receives_.Pop(&receive_);
}

bool Responder::BeginMessage(PairLink& link, const RecordHeader& header) {
  parked_since_.reset();
  in_message_ = true;
  received_bytes_ = 0;
  message_bytes_ = header.message_bytes;
  message_kind_ = header.kind;
  auto fault = FindFault(header);
  if (!fault.has_value()) return true;
  ibv_wc completion = {};
  completion.status = fault->first;
  Complete(completion, true);
  Refuse(link, fault->second);
  return false;
}

std::optional<std::pair<ibv_wc_status, ibv_wc_status>> Responder::FindFault(const RecordHeader& header) const {
  if (header.kind == RecordKind::kSendWithInvalidate &&
      !options_.keys->Invalidate(header.immediate, {options_.domain, options_.queue_pair_number})) {
    return std::pair(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_ACCESS_ERR);
  }
  if (!HasPayload(header.kind)) return std::nullopt;
  if (TotalBytes(receive_.used_segments()) < header.message_bytes) {
    return std::pair(IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  if (!SegmentsAllowed(*options_.own_memory, options_.receive_domain, receive_.used_segments(),
                       IBV_ACCESS_LOCAL_WRITE)) {
    return std::pair(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  }
  return std::nullopt;
}

void Responder::FinishMessage(PairLink& link, const RecordHeader& header) {
  ibv_wc completion = {};
  completion.opcode = HasPayload(header.kind) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  completion.byte_len = static_cast<uint32_t>(header.message_bytes);
  completion.src_qp = link.peer_queue_pair_number();
  if (header.kind == RecordKind::kSendWithInvalidate) {
    completion.wc_flags = IBV_WC_WITH_INV;
    completion.invalidated_rkey = header.immediate;
  } else if (header.kind != RecordKind::kSend) {
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = header.immediate;
  }
  ++accepted_;
  Complete(completion, (header.flags & kRecordSolicited) != 0);
}

void Responder::Complete(ibv_wc completion, bool solicited) {
  in_message_ = false;
  completion.wr_id = receive_.wr_id;
  completion.qp_num = options_.queue_pair_number;
  if (completion.status != IBV_WC_SUCCESS) completion.opcode = IBV_WC_RECV;
  if (!options_.completions->Push(completion, solicited)) lost_completion_ = true;
}

Responder::Step Responder::NotReady(PairLink& link) {
  uint32_t retries = link.peer().requests_out.rnr_retry.load(std::memory_order_relaxed);
  if (retries == kRnrRetryForEver) {
    if (!parked_since_.has_value()) parked_since_.emplace();
    return Step::kWait;
  }
  auto now = std::chrono::steady_clock::now();
  if (!parked_since_.has_value()) parked_since_ = now;
  if (now - *parked_since_ < std::min(retries, kRnrRetryForEver) * RnrTimer(min_rnr_timer_)) {
    options_.completions->LookAgain(options_.queue_pair_index);
    return Step::kWait;
  }
  parked_since_.reset();
  Refuse(link, IBV_WC_RNR_RETRY_EXC_ERR);  // The sender's fault: this queue pair stays as it is.
  return Step::kWait;
}

void Responder::Refuse(PairLink& link, ibv_wc_status at_sender) {
  refused_ = true;
  Publish(link);
  link.own().requests_in.refusal.store(at_sender);
  link.RingSender();
}

void Responder::Publish(PairLink& link) {
  RequestReceiverLine& line = link.own().requests_in;
  const RequestSenderLine& sender = link.peer().requests_out;
  line.accepted.store(accepted_);
  link.requests_in().Publish();
  uint64_t watch = sender.accept_watch.load();
  bool watched = watch > published_accepted_ && watch <= accepted_;
  if (watched || sender.ring.wants_space.load() != 0) link.RingSender();
  published_accepted_ = accepted_;
  unpublished_bytes_ = 0;
}

void Responder::Flush() {
  if (options_.shared_receives != nullptr) options_.shared_receives->StopWaiting(waiter());
  parked_since_.reset();
  refused_ = true;
  ibv_wc completion = {};
  completion.status = IBV_WC_WR_FLUSH_ERR;
  if (in_message_) Complete(completion, true);
  while (receives_.Pop(&receive_)) Complete(completion, true);
}

}  // namespace verbena::soft
