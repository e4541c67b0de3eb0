#include "rpc/core/retry/hedge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr AttemptEnd kGood;
const AttemptEnd kUnavailable = {StatusCode::kUnavailable, Certainty::kNotSent, std::nullopt};
const AttemptEnd kNotFound = {StatusCode::kNotFound, Certainty::kExecuted, std::nullopt};

AttemptEnd PushedBack(RetryPushback pushback) {
  AttemptEnd end = kUnavailable;
  end.pushback = pushback;
  return end;
}

class HedgeTest : public ::testing::Test {
 protected:
  // How many attempts are made up to now.
  uint32_t Attempts() {
    while (hedge_.ShouldAttempt(now_)) continue;
    return hedge_.attempts();
  }
  void Pass(absl::Duration duration) { now_ += duration; }

  absl::Time now_ = absl::UnixEpoch();
  HedgingPolicy policy_ = {.attempts_max = 3, .delay = absl::Milliseconds(10)};
  RetryBudget budget_{RetryBudgetOptions()};
  Hedge hedge_{&policy_, &budget_, absl::UnixEpoch() + absl::Seconds(10)};
};

TEST_F(HedgeTest, AttemptsFollowEachOtherByTheDelayWhileNoAnswerComes) {
  EXPECT_EQ(Attempts(), 1u);
  Pass(absl::Milliseconds(9));
  EXPECT_EQ(Attempts(), 1u);
  EXPECT_EQ(hedge_.NextAttempt(), now_ + absl::Milliseconds(1));
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(Attempts(), 2u);
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Attempts(), 3u);
  Pass(absl::Seconds(1));
  EXPECT_EQ(Attempts(), 3u);
  EXPECT_EQ(hedge_.NextAttempt(), absl::InfiniteFuture());
}

TEST_F(HedgeTest, WithoutDelayAllAreMadeAtOnce) {
  policy_.delay = absl::ZeroDuration();
  EXPECT_EQ(Attempts(), 3u);
}

TEST_F(HedgeTest, FirstGoodAnswerIsTheEnd) {
  Attempts();
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_TRUE(hedge_.OnAttemptEnded(kGood, now_));
}

TEST_F(HedgeTest, FailureThatOthersMayMakeGoodIsFollowedAtOnce) {
  Attempts();
  EXPECT_FALSE(hedge_.OnAttemptEnded(kUnavailable, now_));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_EQ(hedge_.NextAttempt(), now_ + absl::Milliseconds(10));
}

TEST_F(HedgeTest, FailureForGoodIsTheEndAlsoWhileOthersAreUnderWay) {
  policy_.delay = absl::ZeroDuration();
  Attempts();
  EXPECT_TRUE(hedge_.OnAttemptEnded(kNotFound, now_));
}

TEST_F(HedgeTest, LastFailureIsTheEnd) {
  policy_.delay = absl::ZeroDuration();
  Attempts();
  EXPECT_FALSE(hedge_.OnAttemptEnded(kUnavailable, now_));
  EXPECT_FALSE(hedge_.OnAttemptEnded(kUnavailable, now_));
  EXPECT_TRUE(hedge_.OnAttemptEnded(kUnavailable, now_));
}

TEST_F(HedgeTest, ServerMaySayWhenTheNextIsMade) {
  Attempts();
  EXPECT_FALSE(hedge_.OnAttemptEnded(PushedBack({absl::Seconds(2)}), now_));
  Pass(absl::Milliseconds(1999));
  EXPECT_EQ(Attempts(), 1u);
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(Attempts(), 2u);
}

TEST_F(HedgeTest, ServerMaySayThatNoOtherIsMade) {
  Attempts();
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_FALSE(hedge_.OnAttemptEnded(PushedBack({}), now_));
  Pass(absl::Seconds(1));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_TRUE(hedge_.OnAttemptEnded(kUnavailable, now_));
}

TEST_F(HedgeTest, NoneIsMadeFromTheDeadlineOn) {
  Attempts();
  EXPECT_TRUE(hedge_.OnAttemptEnded(PushedBack({absl::Seconds(10)}), now_));
}

TEST_F(HedgeTest, UsedUpBudgetLeavesTheFirstAttemptAlone) {
  while (budget_.OnFailure()) continue;
  EXPECT_EQ(Attempts(), 1u);
  Pass(absl::Seconds(1));
  EXPECT_EQ(Attempts(), 1u);
  EXPECT_TRUE(hedge_.OnAttemptEnded(kUnavailable, now_));
}

TEST_F(HedgeTest, AttemptThatTakesTheLastOnesPlaceIsMadeWhateverOthersDidToTheBudget) {
  Attempts();
  EXPECT_FALSE(hedge_.OnAttemptEnded(PushedBack({absl::Milliseconds(100)}), now_));
  while (budget_.OnFailure()) continue;
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_TRUE(hedge_.OnAttemptEnded(kUnavailable, now_));
}

TEST_F(HedgeTest, WhatNeverReachedAHandlerDoesNotEndTheOthers) {
  const AttemptEnd no_room = {StatusCode::kResourceExhausted, Certainty::kNotSent, std::nullopt};
  Attempts();
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Attempts(), 2u);
  EXPECT_FALSE(hedge_.OnAttemptEnded(no_room, now_));
  EXPECT_EQ(Attempts(), 2u);  // Nor does it make another at once.
  EXPECT_TRUE(hedge_.OnAttemptEnded(kGood, now_));
}

TEST_F(HedgeTest, WhatNeverReachedAHandlerEndsTheCallIfNothingElseIsUnderWay) {
  const AttemptEnd unknown_method = {StatusCode::kUnimplemented, Certainty::kNotSent, std::nullopt};
  Attempts();
  EXPECT_TRUE(hedge_.OnAttemptEnded(unknown_method, now_));
}

// Whatever happens in whatever order, also to others who share the budget: a call ends once, after its last attempt at
// the latest.
TEST(Hedge, EndsExactlyOnceForEverySeed) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    SplitMix64 random(seed);
    const HedgingPolicy policy = {.attempts_max = 2 + static_cast<uint32_t>(random.Next() % 4),
                                  .delay = absl::Milliseconds(random.Next() % 3)};
    RetryBudget budget({.tokens_max = 1 + static_cast<double>(random.Next() % 10)});
    absl::Time now = absl::UnixEpoch();
    Hedge hedge(&policy, &budget, now + absl::Milliseconds(random.Next() % 20));
    uint32_t under_way = 0;
    bool ended = false;
    for (int step = 0; step < 1000 && !ended; ++step) {
      while (hedge.ShouldAttempt(now)) ++under_way;
      ASSERT_TRUE(under_way > 0 || hedge.NextAttempt() < absl::InfiniteFuture()) << "hangs with seed " << seed;
      ASSERT_LE(hedge.attempts(), policy.attempts_max);
      if (random.Next() % 8 == 0) budget.OnFailure();
      if (under_way == 0 || random.Next() % 2 == 0) {
        now += absl::Milliseconds(1);
        continue;
      }
      --under_way;
      const AttemptEnd ends[] = {kGood,          kNotFound,
                                 kUnavailable,   {StatusCode::kResourceExhausted, Certainty::kNotSent, std::nullopt},
                                 PushedBack({}), PushedBack({absl::Milliseconds(3)})};
      ended = hedge.OnAttemptEnded(ends[random.Next() % 6], now);
    }
    ASSERT_TRUE(ended) << "no end with seed " << seed;
  }
}

TEST(Hedge, NonsenseIsRefusedInWords) {
  EXPECT_TRUE(CheckHedgingPolicy({}).ok());
  EXPECT_THAT(std::string(CheckHedgingPolicy({.attempts_max = 1}).message()), HasSubstr("from 2 to 5; it is 1"));
  EXPECT_FALSE(CheckHedgingPolicy({.attempts_max = 6}).ok());
  EXPECT_THAT(std::string(CheckHedgingPolicy({.delay = -absl::Seconds(1)}).message()), HasSubstr("it is -1s"));
  EXPECT_THAT(std::string(CheckHedgingPolicy({.not_final = {StatusCode::kOk}}).message()), HasSubstr("OK"));
}

}  // namespace
}  // namespace verbena::rpc
