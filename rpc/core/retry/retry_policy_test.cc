#include "rpc/core/retry/retry_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

namespace verbena::rpc {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

TEST(RetryPolicy, WhatWasNotSentIsMadeAgain) {
  EXPECT_TRUE(IsRetryable({}, StatusCode::kUnavailable, Certainty::kNotSent));
}

TEST(RetryPolicy, WhatMayHaveBeenExecutedIsMadeAgainOnlyIfIdempotent) {
  RetryPolicy policy;
  for (const Certainty certainty : {Certainty::kOutcomeUnknown, Certainty::kExecuted}) {
    policy.idempotent = false;
    EXPECT_FALSE(IsRetryable(policy, StatusCode::kUnavailable, certainty));
    policy.idempotent = true;
    EXPECT_TRUE(IsRetryable(policy, StatusCode::kUnavailable, certainty));
  }
}

TEST(RetryPolicy, CodesThatItDoesNotNameAreFinal) {
  RetryPolicy policy;
  policy.idempotent = true;
  EXPECT_FALSE(IsRetryable(policy, StatusCode::kNotFound, Certainty::kNotSent));
  policy.codes.push_back(StatusCode::kNotFound);
  EXPECT_TRUE(IsRetryable(policy, StatusCode::kNotFound, Certainty::kNotSent));
}

TEST(RetryPolicy, DelaysGrowToTheirBoundWithinTheJitter) {
  RetryPolicy policy;
  policy.delay_min = absl::Milliseconds(100);
  policy.delay_max = absl::Milliseconds(300);
  SplitMix64 random(1);
  for (uint32_t attempt = 1; attempt < 100; ++attempt) {
    const absl::Duration nominal = absl::Milliseconds(attempt == 1 ? 100 : attempt == 2 ? 200 : 300);
    const absl::Duration delay = RetryDelay(policy, attempt, random);
    EXPECT_GE(delay, nominal * 0.8);
    EXPECT_LE(delay, nominal * 1.2);
  }
}

TEST(RetryPolicy, NonsenseIsRefusedInWords) {
  RetryPolicy policy;
  EXPECT_TRUE(CheckRetryPolicy(policy).ok());
  policy.attempts_max = 0;
  EXPECT_THAT(std::string(CheckRetryPolicy(policy).message()), HasSubstr("attempts_max"));
  policy = {};
  policy.delay_min = absl::Seconds(5);
  EXPECT_THAT(std::string(CheckRetryPolicy(policy).message()), HasSubstr("they are 5s and 2s"));
  policy = {};
  policy.growth = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(CheckRetryPolicy(policy).message()), HasSubstr("growth"));
  policy = {};
  policy.jitter = 1;
  EXPECT_THAT(std::string(CheckRetryPolicy(policy).message()), HasSubstr("jitter"));
  policy = {};
  policy.codes = {StatusCode::kOk};
  EXPECT_THAT(std::string(CheckRetryPolicy(policy).message()), HasSubstr("OK"));
  EXPECT_TRUE(CheckRetryBudget({}).ok());
  EXPECT_FALSE(CheckRetryBudget({0, 0.1}).ok());
}

TEST(RetryPolicy, PushbackIsATimeOrNever) {
  EXPECT_EQ(ParseRetryPushback("250").delay, absl::Milliseconds(250));
  EXPECT_EQ(ParseRetryPushback("0").delay, absl::ZeroDuration());
  for (const char* never : {"-1", "", "soon", "99999999999"}) EXPECT_EQ(ParseRetryPushback(never).delay, std::nullopt);
}

TEST(RetryBudget, AnOutageIsAnsweredByFewRetries) {
  RetryBudget budget({10, 0.1});
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += budget.OnFailure() ? 1 : 0;
  EXPECT_EQ(allowed, 4);
}

TEST(RetryBudget, SuccessesFillItAgain) {
  RetryBudget budget({10, 0.5});
  while (budget.OnFailure()) {
  }
  for (int i = 0; i < 4; ++i) budget.OnSuccess();
  EXPECT_TRUE(budget.OnFailure());
  EXPECT_FALSE(budget.OnFailure());
}

// One failure in a hundred calls may be made again, always.
TEST(RetryBudget, RareFailuresNeverExhaustIt) {
  RetryBudget budget({10, 0.1});
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 99; ++i) budget.OnSuccess();
    EXPECT_TRUE(budget.OnFailure());
  }
}

class NextRetryTest : public ::testing::Test {
 protected:
  NextRetryTest() { policy_.jitter = 0; }
  std::optional<absl::Duration> Next(const AttemptEnd& end, uint32_t attempt = 1,
                                     absl::Duration time_left = absl::InfiniteDuration()) {
    return NextRetry(policy_, attempt, end, time_left, budget_, random_);
  }

  RetryPolicy policy_ = {.attempts_max = 3};
  RetryBudget budget_{RetryBudgetOptions()};
  SplitMix64 random_{1};
  const AttemptEnd unsent_ = {StatusCode::kUnavailable, Certainty::kNotSent, std::nullopt};
};

TEST_F(NextRetryTest, GoesOnByThePolicysDelaysUntilItsLastAttempt) {
  EXPECT_EQ(Next(unsent_, 1), absl::Milliseconds(50));
  EXPECT_EQ(Next(unsent_, 2), absl::Milliseconds(100));
  EXPECT_EQ(Next(unsent_, 3), std::nullopt);
}

TEST_F(NextRetryTest, ServersWordCountsInPlaceOfThePolicysDelay) {
  AttemptEnd end = unsent_;
  end.pushback = RetryPushback{absl::Seconds(7)};
  EXPECT_EQ(Next(end), absl::Seconds(7));
  end.pushback = RetryPushback{};
  EXPECT_EQ(Next(end), std::nullopt);
}

TEST_F(NextRetryTest, NoAttemptIsPlannedForWhenTheCallHasNoTimeLeft) {
  EXPECT_EQ(Next(unsent_, 1, absl::Milliseconds(50)), std::nullopt);
  EXPECT_EQ(Next(unsent_, 1, absl::Milliseconds(51)), absl::Milliseconds(50));
}

TEST_F(NextRetryTest, FailuresUseTheBudgetUpAndSuccessesGiveBack) {
  int made_again = 0;
  while (Next(unsent_).has_value()) ++made_again;
  EXPECT_EQ(made_again, 4);  // Of ten tokens more than half must be left.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Next({}), std::nullopt);
  EXPECT_TRUE(Next(unsent_).has_value());
}

TEST_F(NextRetryTest, FailuresThatThePolicyDoesNotNameCostNothing) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Next({StatusCode::kNotFound, Certainty::kNotSent, {}}), std::nullopt);
  EXPECT_TRUE(Next(unsent_).has_value());
}

}  // namespace
}  // namespace verbena::rpc
