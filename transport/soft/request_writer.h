// Puts requests of the send queue into the request ring, cut into records.
//
// Owner: the requester. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_REQUEST_WRITER_H_
#define VERBENA_TRANSPORT_SOFT_REQUEST_WRITER_H_

#include <algorithm>
#include <cstdint>

#include "transport/soft/pair_link.h"
#include "transport/soft/record.h"
#include "transport/soft/send_queue.h"

namespace verbena::soft {

class RequestWriter {
 public:
  enum class Written {
    kWholly,
    kNoRoom,
    kThisTurn,  // There is more, but `budget` is used up.
  };
  // What is written of a request, under which number: all of it, or a part of a READ, which is a READ of its own then.
  struct Part {
    uint64_t number;
    uint64_t offset;
    uint64_t bytes;
  };
  static Part Whole(const SendEntry& entry) { return {.number = entry.number, .offset = 0, .bytes = entry.length}; }
  // Writes what is left of a part of `entry`, or as much as there is room for. At most `*budget` bytes are copied, and
  // subtracted from it. `reads_in_flight` as in the record's header.
  Written Write(PairLink& link, SendEntry& entry, const Part& part, uint32_t reads_in_flight, uint64_t* budget);

  // Somebody waits for the acceptance of what was written: worth telling a peer that waits for solicited messages only.
  void MarkImportant() { news_ = News::kImportant; }

  // Shows the peer everything written since the last time, and tells it.
  void Publish(PairLink& link);

 private:
  void Announce(News news) { news_ = std::max(news_, news); }

  bool unpublished_ = false;  // Records are committed that the peer was not told of.
  News news_ = News::kWork;   // What they are to the peer.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_REQUEST_WRITER_H_
