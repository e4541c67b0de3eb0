// How much of a long copy a requester does at a time, so that small messages need not wait for it.
//
// On a NIC a READ of many megabytes delays nobody: here it takes the processor that everything else needs too. So it is
// copied in slices, between which the requester looks whether something has come. Slices are short after a message,
// since the next one is likely to come soon, and grow when none comes: each costs a look, and may cost a system call.
// While a message is answered, nothing is copied: who polls once more before he posts the answer gets nothing from
// that.
//
// Pure. Owner: a requester. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_COPY_PACE_H_
#define VERBENA_TRANSPORT_SOFT_COPY_PACE_H_

#include <algorithm>
#include <cstdint>
#include <utility>

namespace verbena::soft {

class CopyPace {
 public:
  // In bytes. The shortest take about as long as a small message; one turn's as long as other queue pairs may wait.
  static constexpr uint64_t kSliceMin = 8 * 1024;
  static constexpr uint64_t kSliceMax = 128 * 1024;
  static constexpr uint64_t kTurnMax = 1024 * 1024;
  // What the posting call has time for.
  static constexpr uint64_t kAtOnce = 4 * 1024;
  // While messages arrive all the time, one turn of so many copies so much all the same.
  static constexpr int kTurnsInHaste = 8;
  static constexpr uint64_t kInHaste = 64 * 1024;
  static constexpr int kShortSlices = 2;  // After a message, before they grow.

  enum class Occasion {
    kTurn,
    kArrival,  // A turn in which there are messages to be delivered.
    kPost,     // The posting call is to return: only what is done at once is done.
  };

  void BeginTurn(Occasion occasion) {
    const bool arrival = occasion == Occasion::kArrival;
    const bool may_be_answering = std::exchange(may_be_answering_, arrival);
    whole_only_ = occasion == Occasion::kPost;
    if (whole_only_) {
      turn_end_ = copied_ + kAtOnce;
    } else if (!arrival && !may_be_answering) {
      turn_end_ = copied_ + kTurnMax;
      turns_in_haste_ = 0;
    } else {
      const bool copies = ++turns_in_haste_ % kTurnsInHaste == 0;
      turn_end_ = copied_ + (copies ? kInHaste : 0);
      slices_ = copies ? kSlicesCounted : 0;
    }
  }
  // No more than this in the turn.
  void Limit(uint64_t bytes) { turn_end_ = std::min(turn_end_, copied_ + bytes); }
  // One was sent while a copy is under way.
  void OnMessage() { slices_ = 0; }

  // How many of the `left` bytes to copy next; 0: no more in this turn.
  uint64_t NextSlice(uint64_t left) const {
    const uint64_t turn_left = turn_end_ - copied_;
    if (whole_only_ && left > turn_left) return 0;
    const int doublings = std::max(slices_ - kShortSlices, 0);
    return std::min({left, turn_left, kSliceMin << doublings, kSliceMax});
  }
  // So many were copied. `something_waits`: it has come since the turn began.
  void Copied(uint64_t bytes, bool something_waits) {
    copied_ += bytes;
    slices_ = std::min(slices_ + 1, kSlicesCounted);
    if (something_waits) turn_end_ = copied_;
  }

 private:
  static constexpr int kSlicesCounted = kShortSlices + 8;  // The slices are longest by then.

  uint64_t copied_ = 0;          // Ever.
  uint64_t turn_end_ = 0;        // How far it may go in this turn.
  int slices_ = 0;               // Since the last message.
  uint32_t turns_in_haste_ = 0;  // In a row.
  bool may_be_answering_ = false;
  bool whole_only_ = false;  // In this turn nothing is begun that would not be done in it.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_COPY_PACE_H_
