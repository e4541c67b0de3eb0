// The deadlines of one session's calls, soonest first.
//
// Mostly each call's deadline comes after those of the calls before it: such calls stand in a row, each linked with its
// neighbours. The others, and those that are much later than what follows them, are in a binary heap that knows where
// each stands in it: once in there, a call stays. So a call that completes early leaves
// at once, and a session with long deadlines and many short calls does not pile up dead entries. Ids are those of the
// session's own CallTable: their indexes are dense; a peer's ids must not come here.
//
// Set and Remove are O(1) in the row and O(log n) in the heap, NextDeadline O(1). Memory grows to the most calls that
// were ever there at once. Owner and thread: the session's.

#ifndef VERBENA_RPC_CORE_DEADLINE_QUEUE_H_
#define VERBENA_RPC_CORE_DEADLINE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "rpc/core/call_table.h"

namespace verbena::rpc {

class DeadlineQueue {
 public:
  // Sets or moves the call's deadline. InfiniteFuture: it has none and is removed. An older call in the same slot is
  // forgotten.
  void Set(uint64_t call_id, absl::Time deadline) {
    if (PlaceOf(call_id) != kNowhere || deadline != absl::InfiniteFuture()) Replace(call_id, deadline);
  }

  // Nothing happens if the call is not there.
  [[gnu::always_inline]] void Remove(uint64_t call_id) {
    if (PlaceOf(call_id) != kNowhere && slots_[CallIndex(call_id)].entry.call_id == call_id) RemoveSlot(call_id);
  }

  // InfiniteFuture if no call has a deadline.
  absl::Time NextDeadline() const { return next_; }

  // Removes and returns the call whose deadline comes first, if it is at or before `now`. Ask until nullopt.
  std::optional<uint64_t> PopExpired(absl::Time now);

  size_t size() const { return in_row_ + heap_.size(); }

 private:
  static constexpr uint32_t kNowhere = 0xffffffff;
  static constexpr uint32_t kInRow = 0xfffffffe;

  struct Entry {
    absl::Time deadline;
    uint64_t call_id;
  };
  struct Slot {
    uint32_t place = kNowhere;    // Its position in the heap, or kInRow.
    uint32_t earlier = kNowhere;  // In the row: its neighbours' slots.
    uint32_t later = kNowhere;
    Entry entry;
  };

  // Where the slot of this call is, whatever its generation.
  uint32_t PlaceOf(uint64_t call_id) const {
    const uint32_t index = CallIndex(call_id);
    return index < slots_.size() ? slots_[index].place : kNowhere;
  }
  absl::Time NextInRow() const {
    return first_in_row_ == kNowhere ? absl::InfiniteFuture() : slots_[first_in_row_].entry.deadline;
  }
  absl::Time NextInHeap() const { return heap_.empty() ? absl::InfiniteFuture() : heap_.front().deadline; }
  void Replace(uint64_t call_id, absl::Time deadline);
  void RemoveSlot(uint64_t call_id);  // It is somewhere.
  void OnChange() { next_ = std::min(NextInRow(), NextInHeap()); }
  bool IsBeforeLastInRow(absl::Time deadline) const;
  void Append(uint32_t index);  // To the row.
  void Unlink(Slot& slot);      // From the row.
  void PushToHeap(uint32_t index);
  void Place(const Entry& entry, size_t position);
  void RemoveAt(size_t position);
  void SiftUp(size_t position);
  void SiftDown(size_t position);

  absl::Time next_ = absl::InfiniteFuture();
  std::vector<Slot> slots_;  // By slot index.
  // The row, soonest first.
  uint32_t first_in_row_ = kNowhere;
  uint32_t last_in_row_ = kNowhere;
  size_t in_row_ = 0;
  std::vector<Entry> heap_;  // Each entry's deadline is not before its parent's.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_DEADLINE_QUEUE_H_
