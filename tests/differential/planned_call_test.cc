#include "tests/differential/planned_call.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace verbena::differential {
namespace {

TEST(PlannedCalls, TheSameSeedGivesTheSameCalls) {
  const std::vector<PlannedCall> once = PlanCalls(7);
  const std::vector<PlannedCall> again = PlanCalls(7);
  ASSERT_EQ(once.size(), again.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(Describe(once[i]), Describe(again[i]));
}

TEST(PlannedCalls, EachSeedHasOneOfTheLongest) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<PlannedCall> calls = PlanCalls(seed);
    EXPECT_EQ(
        std::count_if(calls.begin(), calls.end(), [](const PlannedCall& call) { return call.bytes == kBytesMax; }), 1)
        << seed;
  }
}

TEST(PlannedCalls, FewSeedsHaveEveryKindThatIsPlanned) {
  std::set<CallKind> kinds;
  for (uint64_t seed = 2; seed < 8; ++seed) {
    for (const PlannedCall& call : PlanCalls(seed)) kinds.insert(call.kind);
  }
  EXPECT_EQ(kinds.size(), 10u);
}

TEST(PlannedCalls, CertaintyCountsWhereItDoesNotDependOnTime) {
  EXPECT_TRUE(MayEnd(CallKind::kServerKilled, "UNAVAILABLE, outcome unknown"));
  EXPECT_FALSE(MayEnd(CallKind::kServerKilled, "UNAVAILABLE, not sent"));
  EXPECT_TRUE(MayEnd(CallKind::kTimedOut, "DEADLINE_EXCEEDED, not sent"));
  EXPECT_FALSE(MayEnd(CallKind::kTimedOut, "reply"));
}

TEST(PlannedCalls, ARaceHasTwoOutcomesAndNoOther) {
  EXPECT_TRUE(MayEnd(CallKind::kCancelRace, "reply"));
  EXPECT_TRUE(MayEnd(CallKind::kCancelRace, "CANCELLED, outcome unknown"));
  EXPECT_FALSE(MayEnd(CallKind::kCancelRace, "UNAVAILABLE, outcome unknown"));
  EXPECT_FALSE(MayEnd(CallKind::kCancelRace, "wrong reply"));
}

}  // namespace
}  // namespace verbena::differential
