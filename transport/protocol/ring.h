// A first-in first-out queue that reuses its memory: grows by doubling, never shrinks.
//
// Owner: the machine that holds it. Thread: the owner's. No allocation in the steady state.

#ifndef VERBENA_TRANSPORT_PROTOCOL_RING_H_
#define VERBENA_TRANSPORT_PROTOCOL_RING_H_

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace verbena::protocol {

template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Anything that a T can be assigned from.
  template <typename U>
  void Push(U&& value) {
    if (size_ == capacity_) Grow();
    slots_[At(size_)] = std::forward<U>(value);
    ++size_;
  }

  // Not empty. The reference is valid until the next Push or Pop.
  T& front() {
    assert(size_ > 0);
    return slots_[head_];
  }

  // The one that was pushed last. The same holds.
  T& back() {
    assert(size_ > 0);
    return slots_[At(size_ - 1)];
  }

  // All, the oldest first. `function` neither pushes nor pops.
  template <typename Function>
  void ForEach(Function function) const {
    for (size_t i = 0; i < size_; ++i) function(slots_[At(i)]);
  }

  // Not empty.
  T Pop() {
    assert(size_ > 0);
    T value = std::move(slots_[head_]);
    DropFront();
    return value;
  }
  // The one that was pushed last. Not empty.
  T PopBack() {
    assert(size_ > 0);
    --size_;
    return std::move(slots_[At(size_)]);
  }
  void DropFront() {
    assert(size_ > 0);
    head_ = At(1);
    --size_;
  }

 private:
  static constexpr size_t kSlotsInitial = 4;  // Powers of two throughout: positions wrap by a mask.

  size_t At(size_t offset) const { return (head_ + offset) & (capacity_ - 1); }

  void Grow() {
    std::vector<T> larger(slots_.empty() ? kSlotsInitial : 2 * slots_.size());
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(slots_[At(i)]);
    slots_ = std::move(larger);
    capacity_ = slots_.size();
    head_ = 0;
  }

  std::vector<T> slots_;
  size_t capacity_ = 0;  // Slots.
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_RING_H_
