// For tests: a peer that writes whatever requests it likes into its ring, with no queue pair of ours to stop it.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_REQUEST_FORGER_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_REQUEST_FORGER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "transport/soft/record.h"

namespace verbena::soft {

class RequestForger {
 public:
  struct Request {
    RecordKind kind = RecordKind::kRead;
    uint64_t address = 0;
    uint32_t key = 0;
    uint64_t length = 64;
    uint16_t reads_in_flight = 1;
  };

  // Writes the ring of the pair's end 1, the one that accepted the offer.
  explicit RequestForger(PairMemory& pair)
      : pair_(pair),
        ring_(RequestRing(pair, 1), &pair.control.ends[1].requests_out.ring, &pair.control.ends[0].requests_in.ring) {}

  // Publishes a one-sided request, whose payload, if it has one, is whatever stood in the ring. Where the record is;
  // null if there is no room now.
  std::byte* Write(const Request& request) {
    bool has_payload = !WantsAnswer(request.kind);
    auto payload_bytes = has_payload ? static_cast<uint32_t>(request.length) : 0;
    size_t bytes = RecordPrefixBytes(request.kind) + payload_bytes;
    std::byte* record = ring_.Reserve(bytes);
    if (record == nullptr) return nullptr;
    RecordHeader header = {.kind = request.kind,
                           .flags = kRecordFirst | kRecordLast,
                           .reads_in_flight = request.reads_in_flight,
                           .payload_bytes = payload_bytes,
                           .message_bytes = request.length,
                           .number = ++number_,
                           .immediate = 0,
                           .reserved = 0};
    RecordTarget target = {.address = request.address, .key = request.key, .reserved = 0, .operand = 1, .swap = 0};
    std::memcpy(record, &header, sizeof(header));
    std::memcpy(record + sizeof(header), &target, sizeof(target));
    ring_.Commit(bytes);
    ring_.Publish();
    return record;
  }

  // Bytes of answers that the victim has ever written.
  uint64_t answered_bytes() const { return pair_.control.ends[0].responses_out.ring.tail.load(); }
  // Those since the last call; makes room for more.
  std::string TakeAnswers() {
    const uint64_t before = std::exchange(taken_bytes_, answered_bytes());
    std::string answers;
    for (uint64_t line = before; line != taken_bytes_; line += kCacheLineBytes) {
      const std::byte* from = pair_.response_rings[0] + line % kRingBytes;
      answers.append(reinterpret_cast<const char*>(from), kCacheLineBytes);
    }
    pair_.control.ends[1].responses_in.ring.head.store(taken_bytes_);
    return answers;
  }

 private:
  PairMemory& pair_;
  RingWriter ring_;
  uint64_t number_ = 0;
  uint64_t taken_bytes_ = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_REQUEST_FORGER_H_
