#include "transport/soft/responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/soft/rnr_timer.h"
#include "transport/soft/segments.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kRnrRetryForEver = 7;

bool IsMessage(RecordKind kind) { return kind <= RecordKind::kSendWithInvalidate; }
bool HasPayload(RecordKind kind) { return kind != RecordKind::kImmediateOfWrite && !WantsAnswer(kind); }
bool UsesReceive(RecordKind kind) {
  return IsMessage(kind) || kind == RecordKind::kImmediateOfWrite || kind == RecordKind::kWriteWithImmediate;
}

}  // namespace

Responder::Responder(const Options& options)
    : options_(options),
      one_sided_({.domain = options.domain, .queue_pair = options.queue_pair_number}, options.own_memory),
      receives_(options.receives_max, options.segments_max) {}

bool Responder::Advance(PairLink& link) {
  unfinished_answer_ = false;
  one_sided_.BeginTurn();
  if (refused_) {
    AnswerProbe(link);
    return true;
  }
  Step step = Step::kContinue;
  while (step == Step::kContinue && link.requests_in().unread() != 0) step = TakeRecord(link);
  one_sided_.Publish(link);
  if (unpublished_bytes_ != 0 || accepted_ != published_accepted_) Publish(link);
  AnswerProbe(link);
  return step != Step::kFail && !link.broken();
}

Responder::Step Responder::TakeRecord(PairLink& link) {
  if (answering_) return AnswerRequest(link);
  RequestRecord record = {};
  if (!ReadRecord(link, &record)) {
    link.MarkBroken();
    return Step::kFail;
  }
  if (HasTarget(record.header.kind)) {
    ibv_wc_status status = one_sided_.Check(record);
    if (status != IBV_WC_SUCCESS) return RefuseOneSided(link, status);
  }
  if (!in_request_) {
    Step step = BeginRequest(link, record);
    if (step != Step::kContinue) return step;
  }
  return answering_ ? AnswerRequest(link) : TakePayload(link, record);
}

bool Responder::ReadRecord(PairLink& link, RequestRecord* record) const {
  const RingReader& reader = link.requests_in();
  std::memcpy(&record->header, reader.Peek(), sizeof(record->header));
  if (HasTarget(record->header.kind)) {
    std::memcpy(&record->target, reader.Peek() + sizeof(record->header), sizeof(record->target));
  }
  return IsPossible(*record, link);
}

bool Responder::IsPossible(const RequestRecord& record, PairLink& link) const {
  const RecordHeader& header = record.header;
  bool first = (header.flags & kRecordFirst) != 0;
  bool last = (header.flags & kRecordLast) != 0;
  bool known = header.kind >= RecordKind::kSend && header.kind <= RecordKind::kFetchAndAdd;
  bool whole = header.payload_bytes <= kFragmentBytesMax &&
               RecordBytes(RecordPrefixBytes(header.kind) + header.payload_bytes) <= link.requests_in().available() &&
               header.message_bytes <= kMessageBytesMax;
  if (!known || !whole || (header.flags & ~kRecordFlags) != 0 || first == in_request_ ||
      header.number != accepted_ + 1) {
    return false;
  }
  if (IsAtomic(header.kind) && header.message_bytes != kAtomicBytes) return false;
  if (header.kind == RecordKind::kImmediateOfWrite && !link.copier().has_value()) return false;
  if (!HasPayload(header.kind)) return first && last && header.payload_bytes == 0;
  uint64_t received = in_request_ ? received_bytes_ : 0;
  return (!in_request_ || ContinuesRequest(record)) && header.payload_bytes <= header.message_bytes - received &&
         last == (received + header.payload_bytes == header.message_bytes);
}

bool Responder::ContinuesRequest(const RequestRecord& record) const {
  return record.header.kind == request_.header.kind && record.header.message_bytes == request_.header.message_bytes &&
         record.target.address == request_.target.address && record.target.key == request_.target.key;
}

Responder::Step Responder::BeginRequest(PairLink& link, const RequestRecord& record) {
  RecordKind kind = record.header.kind;
  if (UsesReceive(kind)) {
    bool withheld = faults_ != nullptr && faults_->MessageMustWait();
    if (withheld || !TakeReceive()) return NotReady(link);
    if (faults_ != nullptr) faults_->CountMessage();
    receive_in_use_ = true;
  }
  parked_since_.reset();
  in_request_ = true;
  answering_ = WantsAnswer(kind);
  received_bytes_ = 0;
  request_ = record;
  if (!receive_in_use_) return Step::kContinue;
  auto fault = FindFault(record.header);
  if (!fault.has_value()) return Step::kContinue;
  ibv_wc completion = {};
  completion.status = fault->first;
  Complete(completion, true);
  Refuse(link, fault->second);
  return Step::kFail;
}

Responder::Step Responder::TakePayload(PairLink& link, const RequestRecord& record) {
  const std::byte* payload = link.requests_in().Peek() + RecordPrefixBytes(record.header.kind);
  if (IsMessage(record.header.kind)) {
    Scatter(payload, receive_.used_segments(), received_bytes_, record.header.payload_bytes);
  } else if (record.header.payload_bytes != 0) {
    OneSidedResponder::Write(record, received_bytes_, payload);
  }
  received_bytes_ += record.header.payload_bytes;
  Consume(link, record);
  if ((record.header.flags & kRecordLast) != 0) FinishRequest(link, record.header);
  if (unpublished_bytes_ >= kRingPublishBytes) Publish(link);
  return Step::kContinue;
}

Responder::Step Responder::AnswerRequest(PairLink& link) {
  ibv_wc_status status = one_sided_.Check(request_);
  if (status != IBV_WC_SUCCESS) return RefuseOneSided(link, status);
  OneSidedResponder::Answered answered = one_sided_.Answer(link, request_);
  unfinished_answer_ = answered == OneSidedResponder::Answered::kThisTurn;
  if (answered != OneSidedResponder::Answered::kWholly) return link.broken() ? Step::kFail : Step::kWait;
  Consume(link, request_);
  FinishRequest(link, request_.header);
  return Step::kContinue;
}

void Responder::Consume(PairLink& link, const RequestRecord& record) {
  size_t bytes = RecordPrefixBytes(record.header.kind) + record.header.payload_bytes;
  link.requests_in().Consume(bytes);
  unpublished_bytes_ += RecordBytes(bytes);
}

bool Responder::TakeReceive() {
  return options_.shared_receives != nullptr ? options_.shared_receives->Take(&receive_, waiter())
                                             : receives_.Pop(&receive_);
}

std::optional<std::pair<ibv_wc_status, ibv_wc_status>> Responder::FindFault(const RecordHeader& header) const {
  if (header.kind == RecordKind::kSendWithInvalidate &&
      !options_.keys->Invalidate(header.immediate, {options_.domain, options_.queue_pair_number})) {
    return std::pair(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_ACCESS_ERR);
  }
  if (!IsMessage(header.kind)) return std::nullopt;
  if (TotalBytes(receive_.used_segments()) < header.message_bytes) {
    return std::pair(IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  if (!SegmentsAllowed(*options_.own_memory, options_.receive_domain, receive_.used_segments(),
                       IBV_ACCESS_LOCAL_WRITE)) {
    return std::pair(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  }
  return std::nullopt;
}

void Responder::FinishRequest(PairLink& link, const RecordHeader& header) {
  ++accepted_;
  if (receive_in_use_) CompleteReceive(link, header);
  in_request_ = answering_ = false;
}

void Responder::CompleteReceive(PairLink& link, const RecordHeader& header) {
  ibv_wc completion = {};
  completion.opcode = IsMessage(header.kind) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  completion.byte_len = static_cast<uint32_t>(header.message_bytes);
  completion.src_qp = link.peer_queue_pair_number();
  if (header.kind == RecordKind::kSendWithInvalidate) {
    completion.wc_flags = IBV_WC_WITH_INV;
    completion.invalidated_rkey = header.immediate;
  } else if (header.kind != RecordKind::kSend) {
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = header.immediate;
  }
  Complete(completion, (header.flags & kRecordSolicited) != 0);
}

void Responder::Complete(ibv_wc& completion, bool solicited) {
  receive_in_use_ = false;
  completion.wr_id = receive_.wr_id;
  completion.qp_num = options_.queue_pair_number;
  if (completion.status != IBV_WC_SUCCESS) completion.opcode = IBV_WC_RECV;
  if (!options_.completions->Push(completion, solicited)) lost_completion_ = true;
}

Responder::Step Responder::NotReady(PairLink& link) {
  uint32_t retries = link.peer().requests_out.rnr_retry.load(std::memory_order_relaxed);
  sender_is_impatient_ = retries != kRnrRetryForEver;
  if (!parked_since_.has_value()) parked_since_ = std::chrono::steady_clock::now();
  if (!sender_is_impatient_) return Step::kWait;
  auto now = std::chrono::steady_clock::now();
  if (now - *parked_since_ < std::min(retries, kRnrRetryForEver) * RnrTimer(min_rnr_timer_)) {
    options_.completions->LookAgain(options_.queue_pair_index);
    return Step::kWait;
  }
  parked_since_.reset();
  Refuse(link, IBV_WC_RNR_RETRY_EXC_ERR);  // The sender's fault: this queue pair stays as it is.
  return Step::kWait;
}

// As for any violation of its rights, InfiniBand takes the queue pair itself out of service.
Responder::Step Responder::RefuseOneSided(PairLink& link, ibv_wc_status at_sender) {
  violation_ = at_sender == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;
  Refuse(link, at_sender);
  return Step::kFail;
}

void Responder::Refuse(PairLink& link, ibv_wc_status at_sender) {
  refused_ = true;
  Publish(link);
  link.own().state.refusal.store(at_sender);
  link.RingSender(News::kImportant);
}

void Responder::Publish(PairLink& link) {
  RequestReceiverLine& line = link.own().requests_in;
  const RequestSenderLine& sender = link.peer().requests_out;
  one_sided_.Publish(link);
  line.accepted.store(accepted_);
  link.requests_in().Publish();
  uint64_t watch = sender.accept_watch.load();
  bool watched = watch > published_accepted_ && watch <= accepted_;
  if (sender.ring.wants_space.load() != 0) {
    link.RingSender(News::kImportant);
  } else if (watched) {
    link.RingSender(link.NewsOfAnswers());
  }
  published_accepted_ = accepted_;
  unpublished_bytes_ = 0;
}

void Responder::AnswerProbe(PairLink& link) {
  uint64_t probe = link.peer().requests_out.probe.load(std::memory_order_relaxed);
  if (probe == answered_probe_) return;
  answered_probe_ = probe;
  link.own().requests_in.probe_answer.store(probe);
  link.RingSender(News::kWork);
}

void Responder::Flush() {
  if (options_.shared_receives != nullptr) options_.shared_receives->StopWaiting(waiter());
  parked_since_.reset();
  refused_ = true;
  ibv_wc completion = {};
  completion.status = IBV_WC_WR_FLUSH_ERR;
  if (receive_in_use_) Complete(completion, true);
  while (receives_.Pop(&receive_)) Complete(completion, true);
}

}  // namespace verbena::soft
