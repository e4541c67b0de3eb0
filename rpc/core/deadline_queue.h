// The deadlines of one session's calls, soonest first.
//
// A binary heap that knows where each call stands in it, so that a call that completes early leaves at once, and a
// session with long deadlines and many short calls does not pile up dead entries. Ids are those of the session's own
// CallTable: their indexes are dense; a peer's ids must not come here.
//
// Set and Remove are O(log n), NextDeadline O(1). Memory grows to the most calls that were ever there at once. Owner
// and thread: the session's.

#ifndef VERBENA_RPC_CORE_DEADLINE_QUEUE_H_
#define VERBENA_RPC_CORE_DEADLINE_QUEUE_H_

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
    if (PositionOf(call_id) != kNowhere || deadline != absl::InfiniteFuture()) Replace(call_id, deadline);
  }

  // Nothing happens if the call is not there.
  [[gnu::always_inline]] void Remove(uint64_t call_id) {
    const uint32_t position = PositionOf(call_id);
    if (position != kNowhere && heap_[position].call_id == call_id) RemoveAt(position);
  }

  // InfiniteFuture if no call has a deadline.
  absl::Time NextDeadline() const { return heap_.empty() ? absl::InfiniteFuture() : heap_.front().deadline; }

  // Removes and returns the call whose deadline comes first, if it is at or before `now`. Ask until nullopt.
  std::optional<uint64_t> PopExpired(absl::Time now);

  size_t size() const { return heap_.size(); }

 private:
  static constexpr uint32_t kNowhere = 0xffffffff;

  struct Entry {
    absl::Time deadline;
    uint64_t call_id;
  };

  // Where the slot of this call stands in the heap, whatever its generation.
  uint32_t PositionOf(uint64_t call_id) const {
    const uint32_t index = CallIndex(call_id);
    return index < positions_.size() ? positions_[index] : kNowhere;
  }
  void Replace(uint64_t call_id, absl::Time deadline);
  void Place(const Entry& entry, size_t position);
  void RemoveAt(size_t position);
  void SiftUp(size_t position);
  void SiftDown(size_t position);

  std::vector<Entry> heap_;          // Each entry's deadline is not before its parent's.
  std::vector<uint32_t> positions_;  // By slot index: where in heap_, or kNowhere.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_DEADLINE_QUEUE_H_
