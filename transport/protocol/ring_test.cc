#include "transport/protocol/ring.h"

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

TEST(Ring, KeepsOrderWhileItGrowsAndWraps) {
  Ring<int> ring;
  int pushed = 0, popped = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 7; ++i) ring.Push(pushed++);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ring.Pop(), popped++);
  }
  EXPECT_EQ(ring.size(), static_cast<size_t>(pushed - popped));
  while (!ring.empty()) EXPECT_EQ(ring.Pop(), popped++);
  EXPECT_EQ(popped, pushed);
}

}  // namespace
}  // namespace verbena::protocol
