#include "transport/soft/ring_index.h"

#include <set>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

TEST(RingIndex, AsManyInARowAsTheRingHoldsHavePlacesOfTheirOwn) {
  for (const uint32_t capacity : {0u, 1u, 2u, 3u, 64u, 65u, 1000u}) {
    const RingIndex index(capacity);
    for (const uint64_t first : {uint64_t{0}, uint64_t{12345}, ~uint64_t{0} - 10}) {
      std::set<size_t> places;
      for (uint64_t i = 0; i < capacity; ++i) {
        EXPECT_LT(index[first + i], index.places());
        places.insert(index[first + i]);
      }
      EXPECT_EQ(places.size(), capacity);
    }
  }
}

}  // namespace
}  // namespace verbena::soft
