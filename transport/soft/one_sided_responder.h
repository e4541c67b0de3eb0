// Carries out the one-sided requests that a peer leaves to us: WRITEs into, READs from and atomics on this process'
// memory, each checked against our own table of regions.
//
// What is allowed is checked again for every record and every turn of a long answer, under the queue pair's lock; a
// deregistration takes that lock after it has revoked its key, so nothing is touched after it has returned.
//
// Owner: the responder. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_ONE_SIDED_RESPONDER_H_
#define VERBENA_TRANSPORT_SOFT_ONE_SIDED_RESPONDER_H_

#include <infiniband/verbs.h>

#include "transport/soft/key_table.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/record.h"

namespace verbena::soft {

// The head of a record, copied out of the ring.
struct RequestRecord {
  RecordHeader header;
  RecordTarget target;  // Zeros if the kind has none.
};

class OneSidedResponder {
 public:
  // `user` is the queue pair.
  OneSidedResponder(KeyUser user, const PublishedMemory* own_memory) : user_(user), own_memory_(own_memory) {}

  // What the queue pair allows: qp_access_flags, and how many READs and atomics at once.
  void set_access(uint32_t access) { access_ = access; }
  void set_read_depth(uint8_t depth) { read_depth_ = depth; }

  // SUCCESS, or what the request gets at its sender.
  ibv_wc_status Check(const RequestRecord& request) const;

  // Stores the payload of one record of a WRITE that was checked; `offset` is where it stands in the whole.
  static void Write(const RequestRecord& request, uint64_t offset, const std::byte* payload);

  enum class Answered {
    kWholly,
    kNoRoom,    // The peer rings when there is room in the response ring.
    kThisTurn,  // There is more, but that was enough for one turn.
  };
  // Another turn begins, with a limited number of bytes for all answers together.
  void BeginTurn() { turn_bytes_left_ = kAnswerBytesPerTurn; }
  // Writes the answer to a READ or atomic that was checked, or the next part of it.
  Answered Answer(PairLink& link, const RequestRecord& request);

  // Shows the peer every answer written, and tells it.
  void Publish(PairLink& link);

 private:
  // As for the requester's copies: other queue pairs wait no longer than this takes.
  static constexpr uint64_t kAnswerBytesPerTurn = 1024 * 1024;

  Answered AnswerRead(PairLink& link, const RequestRecord& request);
  Answered AnswerAtomic(PairLink& link, const RequestRecord& request);
  // As RingWriter::Reserve, and asks the peer to ring if there is no room.
  std::byte* Reserve(PairLink& link, size_t bytes);
  void Commit(PairLink& link, size_t bytes);

  const KeyUser user_;
  const PublishedMemory* const own_memory_;
  uint32_t access_ = 0;
  uint8_t read_depth_ = 0;
  uint64_t turn_bytes_left_ = 0;
  uint64_t answered_bytes_ = 0;     // Of the READ in progress.
  uint64_t unpublished_bytes_ = 0;  // In the response ring; the peer was not told.
  bool space_wanted_ = false;       // As published.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ONE_SIDED_RESPONDER_H_
