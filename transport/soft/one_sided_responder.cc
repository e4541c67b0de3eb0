#include "transport/soft/one_sided_responder.h"

#include <algorithm>
#include <cstring>

#include "transport/soft/atomic_operation.h"

namespace verbena::soft {
namespace {

uint32_t AccessOf(RecordKind kind) {
  if (IsAtomic(kind)) return IBV_ACCESS_REMOTE_ATOMIC;
  return kind == RecordKind::kRead ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

}  // namespace

ibv_wc_status OneSidedResponder::Check(const RequestRecord& request) const {
  const auto& [header, target] = request;
  if (header.reads_in_flight > read_depth_) return IBV_WC_REM_INV_REQ_ERR;
  if (IsAtomic(header.kind) && !IsAtomicAddress(target.address)) return IBV_WC_REM_INV_REQ_ERR;
  uint32_t access = AccessOf(header.kind);
  if ((access_ & access) != access) return IBV_WC_REM_ACCESS_ERR;
  if (header.message_bytes == 0) return IBV_WC_SUCCESS;  // InfiniBand does not look at the key then.
  MemoryRange range = {.address = target.address, .length = header.message_bytes};
  return KeyAllows(*own_memory_, target.key, user_, range, access) ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

void OneSidedResponder::Write(const RequestRecord& request, uint64_t offset, const std::byte* payload) {
  std::memcpy(reinterpret_cast<std::byte*>(request.target.address + offset), payload, request.header.payload_bytes);
}

OneSidedResponder::Answered OneSidedResponder::Answer(PairLink& link, const RequestRecord& request) {
  return IsAtomic(request.header.kind) ? AnswerAtomic(link, request) : AnswerRead(link, request);
}

OneSidedResponder::Answered OneSidedResponder::AnswerRead(PairLink& link, const RequestRecord& request) {
  uint64_t total = request.header.message_bytes;
  do {
    if (turn_bytes_left_ == 0) return Answered::kThisTurn;
    uint64_t room = NextFragmentBytesMax(link.responses_out(), sizeof(RecordHeader));
    uint64_t bytes = std::min({total - answered_bytes_, room, turn_bytes_left_});
    std::byte* record = Reserve(link, sizeof(RecordHeader) + bytes);
    if (record == nullptr) return Answered::kNoRoom;
    bool first = answered_bytes_ == 0;
    bool last = answered_bytes_ + bytes == total;
    RecordHeader header = {.kind = RecordKind::kReadResponse,
                           .flags = static_cast<uint8_t>((first ? kRecordFirst : 0) | (last ? kRecordLast : 0)),
                           .reads_in_flight = 0,
                           .payload_bytes = static_cast<uint32_t>(bytes),
                           .message_bytes = total,
                           .number = request.header.number,
                           .immediate = 0,
                           .reserved = 0};
    std::memcpy(record, &header, sizeof(header));
    auto* from = reinterpret_cast<const std::byte*>(request.target.address + answered_bytes_);
    if (bytes != 0) std::memcpy(record + sizeof(header), from, bytes);
    answered_bytes_ += bytes;
    turn_bytes_left_ -= bytes;
    Commit(link, sizeof(header) + bytes);
  } while (answered_bytes_ < total);
  answered_bytes_ = 0;
  return Answered::kWholly;
}

OneSidedResponder::Answered OneSidedResponder::AnswerAtomic(PairLink& link, const RequestRecord& request) {
  std::byte* record = Reserve(link, sizeof(RecordHeader) + kAtomicBytes);
  if (record == nullptr) return Answered::kNoRoom;
  AtomicOperation operation = {.compares = request.header.kind == RecordKind::kCompareAndSwap,
                               .operand = request.target.operand,
                               .swap = request.target.swap};
  uint64_t before = Execute(operation, request.target.address);
  RecordHeader header = {.kind = RecordKind::kAtomicResponse,
                         .flags = kRecordFirst | kRecordLast,
                         .reads_in_flight = 0,
                         .payload_bytes = kAtomicBytes,
                         .message_bytes = kAtomicBytes,
                         .number = request.header.number,
                         .immediate = 0,
                         .reserved = 0};
  std::memcpy(record, &header, sizeof(header));
  std::memcpy(record + sizeof(header), &before, sizeof(before));
  Commit(link, sizeof(header) + kAtomicBytes);
  return Answered::kWholly;
}

std::byte* OneSidedResponder::Reserve(PairLink& link, size_t bytes) {
  std::byte* record = link.responses_out().Reserve(bytes);
  if (record == nullptr && !space_wanted_) {
    Publish(link);
    link.own().responses_out.ring.wants_space.store(1);
    space_wanted_ = true;
    record = link.responses_out().Reserve(bytes);  // Perhaps there was room before the peer could see the wish.
  }
  if (record != nullptr && space_wanted_) {
    link.own().responses_out.ring.wants_space.store(0);
    space_wanted_ = false;
  }
  return record;
}

void OneSidedResponder::Commit(PairLink& link, size_t bytes) {
  link.responses_out().Commit(bytes);
  unpublished_bytes_ += RecordBytes(bytes);
  if (unpublished_bytes_ >= kRingPublishBytes) Publish(link);
}

void OneSidedResponder::Publish(PairLink& link) {
  if (unpublished_bytes_ == 0) return;
  link.responses_out().Publish();
  // In the middle of an answer the ring must be emptied, whether or not the sender looks.
  link.RingSender(answered_bytes_ != 0 ? News::kImportant : link.NewsOfAnswers());
  unpublished_bytes_ = 0;
}

}  // namespace verbena::soft
