// Takes the answers to READs and atomics out of the response ring, into the segments of their requests.
//
// Owner: the requester. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_ANSWER_READER_H_
#define VERBENA_TRANSPORT_SOFT_ANSWER_READER_H_

#include <cstdint>

#include "transport/soft/pair_link.h"
#include "transport/soft/record.h"
#include "transport/soft/send_queue.h"

namespace verbena::soft {

class AnswerReader {
 public:
  // A request for `bytes` of `entry` is in the ring, which wants an answer. The entry has its number.
  void Expect(SendEntry& entry, uint64_t bytes) {
    entry.fetched_bytes += bytes;
    ++entry.answers_due;
    ++in_flight_;
  }
  uint32_t in_flight() const { return in_flight_; }

  // Takes in what has arrived and marks the requests that are answered. An answer that cannot be marks the link broken.
  void TakeIn(PairLink& link, SendQueue& queue);

 private:
  bool IsPossible(const RecordHeader& header, const SendEntry& entry, size_t available) const;
  bool BeginsAnswer(const RecordHeader& header, const SendEntry& entry) const;
  bool Continues(const RecordHeader& header) const;
  void Publish(PairLink& link);

  uint32_t in_flight_ = 0;
  RecordHeader first_ = {};         // Of the answer in progress.
  uint64_t answer_bytes_ = 0;       // Of that, taken in. 0: none is in progress.
  uint64_t unpublished_bytes_ = 0;  // Consumed from the ring; the sender was not told.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ANSWER_READER_H_
