#include "transport/soft/cm_deadlines.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

Deadlines::TimePoint At(int seconds) { return Deadlines::TimePoint(std::chrono::seconds(seconds)); }

TEST(Deadlines, ExpireEarliestFirstAndNotBefore) {
  Deadlines deadlines;
  EXPECT_TRUE(deadlines.Set(1, At(10)));
  EXPECT_TRUE(deadlines.Set(2, At(5)));
  EXPECT_FALSE(deadlines.Set(3, At(20)));
  EXPECT_EQ(deadlines.Next(), At(5));
  EXPECT_EQ(deadlines.PopExpired(At(4)), std::nullopt);
  EXPECT_EQ(deadlines.PopExpired(At(10)), 2u);
  EXPECT_EQ(deadlines.PopExpired(At(10)), 1u);
  EXPECT_EQ(deadlines.PopExpired(At(10)), std::nullopt);
  EXPECT_EQ(deadlines.Next(), At(20));
}

TEST(Deadlines, SetReplacesAndCancelRemoves) {
  Deadlines deadlines;
  deadlines.Set(1, At(5));
  deadlines.Set(1, At(9));
  EXPECT_EQ(deadlines.Next(), At(9));
  deadlines.Cancel(1);
  deadlines.Cancel(7);
  EXPECT_EQ(deadlines.Next(), std::nullopt);
}

}  // namespace
}  // namespace verbena::soft
