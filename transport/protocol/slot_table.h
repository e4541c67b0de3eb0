// A table of recycled slots with ids that never come back, and queues that run through them.
//
// An id is the slot's index (low 32 bits, marked with the table's tag) and the slot's generation (high 32 bits, from
// 1): an id of a slot that was freed is found no more, even after the slot is used again. A slot is in at most one
// queue at a time; joining and leaving a queue, anywhere in it, costs a few writes and no memory.
//
// Owner: the machine that holds it. Thread: the owner's. Grows to the most slots ever in use at once; references to
// values are valid until the next Allocate.

#ifndef VERBENA_TRANSPORT_PROTOCOL_SLOT_TABLE_H_
#define VERBENA_TRANSPORT_PROTOCOL_SLOT_TABLE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbena::protocol {

// A queue through the slots of one table.
struct SlotQueue {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t head = kNone;
  uint32_t tail = kNone;
  bool empty() const { return head == kNone; }
};

template <typename T>
class SlotTable {
 public:
  // `tag` has bits above kIndexBits only; ids of tables with different tags differ.
  static constexpr uint32_t kIndexBits = 30;
  static constexpr uint32_t kTagMask = ~((uint32_t{1} << kIndexBits) - 1);

  explicit SlotTable(uint32_t tag = 0) : tag_(tag) { assert((tag & ~kTagMask) == 0); }

  size_t size() const { return used_; }  // Slots in use.
  bool empty() const { return used_ == 0; }
  uint32_t capacity() const { return static_cast<uint32_t>(slots_.size()); }

  // Takes a slot; its value is as it was left when it was last freed (so that memory in it is reused).
  uint32_t Allocate() {
    if (free_ == SlotQueue::kNone) {
      slots_.emplace_back();
      free_ = static_cast<uint32_t>(slots_.size() - 1);
      assert(slots_.size() < (size_t{1} << kIndexBits));
    }
    const uint32_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next;
    slot.next = SlotQueue::kNone;
    slot.in_use = true;
    ++used_;
    return index;
  }

  // The slot must be in no queue.
  void Free(uint32_t index) {
    Slot& slot = slots_[index];
    assert(slot.in_use);
    slot.in_use = false;
    if (++slot.generation == 0) slot.generation = 1;  // An id is never 0.
    slot.next = free_;
    free_ = index;
    --used_;
  }

  uint64_t IdOf(uint32_t index) const { return uint64_t{slots_[index].generation} << 32 | tag_ | index; }
  // The slot of an id, or kNone if the id is not in use.
  uint32_t Find(uint64_t id) const {
    const uint32_t low = static_cast<uint32_t>(id);
    const uint32_t index = low & ~kTagMask;
    if ((low & kTagMask) != tag_ || index >= slots_.size()) return SlotQueue::kNone;
    const Slot& slot = slots_[index];
    return slot.in_use && slot.generation == static_cast<uint32_t>(id >> 32) ? index : SlotQueue::kNone;
  }

  bool in_use(uint32_t index) const { return index < slots_.size() && slots_[index].in_use; }
  T& operator[](uint32_t index) { return slots_[index].value; }
  const T& operator[](uint32_t index) const { return slots_[index].value; }

  void PushBack(SlotQueue& queue, uint32_t index) {
    Slot& slot = slots_[index];
    slot.previous = queue.tail;
    slot.next = SlotQueue::kNone;
    (queue.tail == SlotQueue::kNone ? queue.head : slots_[queue.tail].next) = index;
    queue.tail = index;
  }

  // The slot behind this one in its queue, or kNone.
  uint32_t Next(uint32_t index) const { return slots_[index].next; }

  // The slot must be in `queue`.
  void Remove(SlotQueue& queue, uint32_t index) {
    Slot& slot = slots_[index];
    (slot.previous == SlotQueue::kNone ? queue.head : slots_[slot.previous].next) = slot.next;
    (slot.next == SlotQueue::kNone ? queue.tail : slots_[slot.next].previous) = slot.previous;
    slot.next = slot.previous = SlotQueue::kNone;
  }

  // The queue must not be empty.
  uint32_t PopFront(SlotQueue& queue) {
    const uint32_t index = queue.head;
    Remove(queue, index);
    return index;
  }

 private:
  struct Slot {
    T value;
    uint32_t generation = 1;
    uint32_t next = SlotQueue::kNone;  // In its queue, or in the free list.
    uint32_t previous = SlotQueue::kNone;
    bool in_use = false;
  };

  const uint32_t tag_;
  std::vector<Slot> slots_;
  uint32_t free_ = SlotQueue::kNone;
  size_t used_ = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SLOT_TABLE_H_
