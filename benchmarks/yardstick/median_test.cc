#include "benchmarks/yardstick/median.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

TEST(Median, IsTheMiddleAndIgnoresOutliers) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({1000, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 1000, 2}), 3);
}

}  // namespace
}  // namespace verbena::benchmarks
