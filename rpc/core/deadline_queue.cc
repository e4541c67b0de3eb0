#include "rpc/core/deadline_queue.h"

#include <algorithm>
#include <cassert>

namespace verbena::rpc {

void DeadlineQueue::Replace(uint64_t call_id, absl::Time deadline) {
  if (PlaceOf(call_id) != kNowhere) RemoveSlot(call_id);
  if (deadline == absl::InfiniteFuture()) return;
  const uint32_t index = CallIndex(call_id);
  if (index >= slots_.size()) {
    slots_.resize(size_t{index} + 1);
    heap_.reserve(slots_.capacity());  // So that which of the two a call is in later allocates nothing.
  }
  slots_[index].entry = {deadline, call_id};
  // Those that are later than what follows them leave the row one by one, lest a few of them keep all others out.
  if (IsBeforeLastInRow(deadline)) {
    const uint32_t late = last_in_row_;
    Unlink(slots_[late]);
    PushToHeap(late);
  }
  if (IsBeforeLastInRow(deadline)) {
    PushToHeap(index);
  } else {
    Append(index);
  }
  OnChange();
}

bool DeadlineQueue::IsBeforeLastInRow(absl::Time deadline) const {
  return last_in_row_ != kNowhere && deadline < slots_[last_in_row_].entry.deadline;
}

void DeadlineQueue::PushToHeap(uint32_t index) {
  heap_.push_back(slots_[index].entry);
  SiftUp(heap_.size() - 1);
}

std::optional<uint64_t> DeadlineQueue::PopExpired(absl::Time now) {
  if (next_ > now || size() == 0) return std::nullopt;
  const uint64_t call_id = NextInRow() == next_ ? slots_[first_in_row_].entry.call_id : heap_.front().call_id;
  RemoveSlot(call_id);
  return call_id;
}

void DeadlineQueue::RemoveSlot(uint64_t call_id) {
  Slot& slot = slots_[CallIndex(call_id)];
  if (slot.place == kInRow) {
    Unlink(slot);
  } else {
    RemoveAt(slot.place);
  }
  OnChange();
}

void DeadlineQueue::Append(uint32_t index) {
  Slot& slot = slots_[index];
  slot.place = kInRow;
  slot.earlier = last_in_row_;
  slot.later = kNowhere;
  (last_in_row_ == kNowhere ? first_in_row_ : slots_[last_in_row_].later) = index;
  last_in_row_ = index;
  ++in_row_;
}

void DeadlineQueue::Unlink(Slot& slot) {
  (slot.earlier == kNowhere ? first_in_row_ : slots_[slot.earlier].later) = slot.later;
  (slot.later == kNowhere ? last_in_row_ : slots_[slot.later].earlier) = slot.earlier;
  slot.place = kNowhere;
  --in_row_;
}

void DeadlineQueue::Place(const Entry& entry, size_t position) {
  heap_[position] = entry;
  slots_[CallIndex(entry.call_id)].place = static_cast<uint32_t>(position);
}

void DeadlineQueue::RemoveAt(size_t position) {
  assert(position < heap_.size());
  slots_[CallIndex(heap_[position].call_id)].place = kNowhere;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  // The last entry fills the gap; it may belong above it as well as below.
  Place(last, position);
  SiftUp(position);
  SiftDown(slots_[CallIndex(last.call_id)].place);
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
