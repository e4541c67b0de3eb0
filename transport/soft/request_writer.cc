#include "transport/soft/request_writer.h"

#include <cstring>
#include <new>

#include "transport/soft/segments.h"
#include "transport/soft/work_opcodes.h"

namespace verbena::soft {
namespace {

RecordKind KindOf(const SendEntry& entry) {
  switch (entry.opcode) {
    case IBV_WR_SEND_WITH_IMM:
      return RecordKind::kSendWithImmediate;
    case IBV_WR_SEND_WITH_INV:
      return RecordKind::kSendWithInvalidate;
    case IBV_WR_RDMA_WRITE:
      return RecordKind::kWrite;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return entry.direct_copy == SendEntry::DirectCopy::kDone ? RecordKind::kImmediateOfWrite
                                                               : RecordKind::kWriteWithImmediate;
    case IBV_WR_RDMA_READ:
      return RecordKind::kRead;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return RecordKind::kCompareAndSwap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return RecordKind::kFetchAndAdd;
    default:
      return RecordKind::kSend;
  }
}

bool CarriesPayload(RecordKind kind) { return !WantsAnswer(kind) && kind != RecordKind::kImmediateOfWrite; }

// Before the payload, which may begin where the operands would stand.
void WriteTarget(const SendEntry& entry, uint64_t offset, std::byte* record) {
  RecordTarget target = {.address = entry.remote_address + offset,
                         .key = entry.remote_key,
                         .reserved = 0,
                         .operand = entry.operand,
                         .swap = entry.swap};
  std::memcpy(record + sizeof(RecordHeader), &target, sizeof(target));
}

}  // namespace

RequestWriter::Written RequestWriter::Write(PairLink& link, SendEntry& entry, const Part& part,
                                            uint32_t reads_in_flight, uint64_t* budget) {
  RecordKind kind = KindOf(entry);
  const size_t prefix_bytes = RecordPrefixBytes(kind);
  const bool completes_something = !HasTarget(kind) || kind == RecordKind::kWriteWithImmediate;
  uint64_t payload_bytes = CarriesPayload(kind) ? part.bytes : 0;
  if (!unpublished_) link.requests_out().Restart();
  do {
    if (payload_bytes != 0 && *budget == 0) return Written::kThisTurn;
    uint64_t left = std::min(payload_bytes - entry.sent_bytes, *budget);
    auto bytes = static_cast<uint32_t>(std::min(left, NextFragmentBytesMax(link.requests_out(), prefix_bytes)));
    bool first = entry.sent_bytes == 0;
    bool last = entry.sent_bytes + bytes == payload_bytes;
    std::byte* record = link.requests_out().Reserve(prefix_bytes + bytes);
    if (record == nullptr) return Written::kNoRoom;
    // In place: to copy what was just written in pieces stalls the processor.
    new (record) RecordHeader{.kind = kind,
                              .flags = static_cast<uint8_t>((first ? kRecordFirst : 0) | (last ? kRecordLast : 0) |
                                                            (entry.solicited ? kRecordSolicited : 0)),
                              .reads_in_flight = static_cast<uint16_t>(reads_in_flight),
                              .payload_bytes = bytes,
                              .message_bytes = part.bytes,
                              .number = part.number,
                              .immediate = entry.immediate,
                              .reserved = 0};
    if (HasTarget(kind)) WriteTarget(entry, part.offset, record);
    Gather(entry.segments, entry.sent_bytes, bytes, record + prefix_bytes);
    link.requests_out().Commit(prefix_bytes + bytes);
    unpublished_ = true;
    if (completes_something) Announce(News::kMessage);
    entry.sent_bytes += bytes;
    *budget -= std::min<uint64_t>(bytes, *budget);
  } while (entry.sent_bytes < payload_bytes);
  if (entry.solicited) Announce(News::kImportant);
  return Written::kWholly;
}

void RequestWriter::Publish(PairLink& link) {
  if (!unpublished_) return;
  link.requests_out().Publish();
  link.RingReceiver(news_);
  unpublished_ = false;
  news_ = News::kWork;
}

}  // namespace verbena::soft
