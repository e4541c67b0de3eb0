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
    if (answer_bytes_ == 0) first_ = header;
    answer_bytes_ += header.payload_bytes;
    if ((header.flags & kRecordLast) != 0) {
      answer_bytes_ = 0;
      --in_flight_;
      --entry.answers_due;
      entry.answered = entry.answers_due == 0 && entry.state == SendEntry::State::kSent;
    }
    if (unpublished_bytes_ >= kRingPublishBytes) Publish(link);
  }
  if (unpublished_bytes_ != 0) Publish(link);
}

bool AnswerReader::IsPossible(const RecordHeader& header, const SendEntry& entry, size_t available) const {
  const bool begins = answer_bytes_ == 0;
  const bool last = (header.flags & kRecordLast) != 0;
  if (((header.flags & kRecordFirst) != 0) != begins || !(begins ? BeginsAnswer(header, entry) : Continues(header))) {
    return false;
  }
  const uint64_t left = header.message_bytes - answer_bytes_;
  return header.payload_bytes <= left && last == (header.payload_bytes == left) &&
         (header.payload_bytes != 0 || last) && RecordBytes(sizeof(header) + header.payload_bytes) <= available;
}

// The last answer that is due brings all that is missing of what was asked for, and has the entry's number.
bool AnswerReader::BeginsAnswer(const RecordHeader& header, const SendEntry& entry) const {
  const RecordKind kind = IsAtomic(entry.opcode) ? RecordKind::kAtomicResponse : RecordKind::kReadResponse;
  const uint64_t missing = entry.fetched_bytes - entry.received_bytes;
  const bool is_last = entry.answers_due == 1;
  return header.kind == kind && (is_last ? header.number == entry.number : header.number < entry.number) &&
         (is_last ? header.message_bytes == missing : header.message_bytes < missing);
}

bool AnswerReader::Continues(const RecordHeader& header) const {
  return header.kind == first_.kind && header.number == first_.number && header.message_bytes == first_.message_bytes;
}

void AnswerReader::Publish(PairLink& link) {
  link.responses_in().Publish();
  if (link.peer().responses_out.ring.wants_space.load() != 0) link.RingReceiver(News::kWork);
  unpublished_bytes_ = 0;
}

}  // namespace verbena::soft
