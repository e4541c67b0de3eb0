#include "rpc/core/deadline_queue.h"

#include <cassert>

namespace verbena::rpc {

void DeadlineQueue::Replace(uint64_t call_id, absl::Time deadline) {
  const uint32_t position = PositionOf(call_id);
  if (position != kNowhere) RemoveAt(position);
  if (deadline == absl::InfiniteFuture()) return;
  const uint32_t index = CallIndex(call_id);
  if (index >= positions_.size()) positions_.resize(size_t{index} + 1, kNowhere);
  heap_.push_back(Entry{deadline, call_id});
  Place(heap_.back(), heap_.size() - 1);
  SiftUp(heap_.size() - 1);
}

std::optional<uint64_t> DeadlineQueue::PopExpired(absl::Time now) {
  if (heap_.empty() || heap_.front().deadline > now) return std::nullopt;
  const uint64_t call_id = heap_.front().call_id;
  RemoveAt(0);
  return call_id;
}

void DeadlineQueue::Place(const Entry& entry, size_t position) {
  heap_[position] = entry;
  positions_[CallIndex(entry.call_id)] = static_cast<uint32_t>(position);
}

void DeadlineQueue::RemoveAt(size_t position) {
  assert(position < heap_.size());
  positions_[CallIndex(heap_[position].call_id)] = kNowhere;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  // The last entry fills the gap; it may belong above it as well as below.
  Place(last, position);
  SiftUp(position);
  SiftDown(positions_[CallIndex(last.call_id)]);
}

void DeadlineQueue::SiftUp(size_t position) {
  const Entry rising = heap_[position];
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (heap_[parent].deadline <= rising.deadline) break;
    Place(heap_[parent], position);
    position = parent;
  }
  Place(rising, position);
}

void DeadlineQueue::SiftDown(size_t position) {
  const Entry sinking = heap_[position];
  while (true) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].deadline < heap_[child].deadline) ++child;
    if (sinking.deadline <= heap_[child].deadline) break;
    Place(heap_[child], position);
    position = child;
  }
  Place(sinking, position);
}

}  // namespace verbena::rpc
