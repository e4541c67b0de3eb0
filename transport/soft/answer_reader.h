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
  // A request of `queue` that wants an answer was handed over.
  void Expect() { ++in_flight_; }
  uint32_t in_flight() const { return in_flight_; }

  // Takes in what has arrived and marks the requests that are answered. An answer that cannot be marks the link broken.
  void TakeIn(PairLink& link, SendQueue& queue);

 private:
  bool IsPossible(const RecordHeader& header, const SendEntry& entry, size_t available) const;
  void Publish(PairLink& link);

  uint32_t in_flight_ = 0;
  uint64_t unpublished_bytes_ = 0;  // Consumed from the ring; the sender was not told.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ANSWER_READER_H_
