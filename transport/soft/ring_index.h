// Where things stand in a ring that is counted through for ever: a mask, since a division takes as long as a dozen
// other instructions and each message counts through six rings.
//
// A value; any thread.

#ifndef VERBENA_TRANSPORT_SOFT_RING_INDEX_H_
#define VERBENA_TRANSPORT_SOFT_RING_INDEX_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace verbena::soft {

class RingIndex {
 public:
  // Of a ring that holds `capacity` things at least.
  explicit RingIndex(uint32_t capacity) : mask_(std::bit_ceil(size_t{capacity}) - 1) {}

  // How many places the ring needs: a power of two.
  size_t places() const { return mask_ + 1; }
  size_t operator[](uint64_t count) const { return count & mask_; }

 private:
  size_t mask_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RING_INDEX_H_
