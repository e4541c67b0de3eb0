#include "transport/soft/answer_reader.h"

#include <cstring>

#include "transport/soft/segments.h"
#include "transport/soft/work_opcodes.h"

namespace verbena::soft {

void AnswerReader::TakeIn(PairLink& link, SendQueue& queue) {
  if (in_flight_ == 0) return;
  RingReader& reader = link.responses_in();
  reader.Refresh();
  while (in_flight_ != 0 && reader.unread() != 0) {
    SendEntry& entry = queue.oldest_unanswered();
    RecordHeader header;
    std::memcpy(&header, reader.Peek(), sizeof(header));
    if (!IsPossible(header, entry, reader.available())) return link.MarkBroken();
    Scatter(reader.Peek() + sizeof(header), entry.segments, entry.received_bytes, header.payload_bytes);
    entry.received_bytes += header.payload_bytes;
    size_t bytes = sizeof(header) + header.payload_bytes;
    reader.Consume(bytes);
    unpublished_bytes_ += RecordBytes(bytes);
    if ((header.flags & kRecordLast) != 0) {
      entry.answered = true;
      --in_flight_;
    }
    if (unpublished_bytes_ >= kRingPublishBytes) Publish(link);
  }
  if (unpublished_bytes_ != 0) Publish(link);
}

bool AnswerReader::IsPossible(const RecordHeader& header, const SendEntry& entry, size_t available) const {
  RecordKind kind = IsAtomic(entry.opcode) ? RecordKind::kAtomicResponse : RecordKind::kReadResponse;
  uint64_t left = entry.length - entry.received_bytes;
  bool first = (header.flags & kRecordFirst) != 0;
  bool last = (header.flags & kRecordLast) != 0;
  return header.kind == kind && header.number == entry.number && header.message_bytes == entry.length &&
         header.payload_bytes <= left && RecordBytes(sizeof(header) + header.payload_bytes) <= available &&
         first == (entry.received_bytes == 0) && last == (header.payload_bytes == left) &&
         (header.payload_bytes != 0 || last);
}

void AnswerReader::Publish(PairLink& link) {
  link.responses_in().Publish();
  if (link.peer().responses_out.ring.wants_space.load() != 0) link.RingReceiver(News::kWork);
  unpublished_bytes_ = 0;
}

}  // namespace verbena::soft
