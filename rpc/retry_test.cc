// Calls that are made again, over a network in memory and in virtual time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Text;

constexpr absl::string_view kFlaky = "test.Lambda/Flaky";
constexpr absl::Duration kAWhile = absl::Seconds(1000);

class RetryTest : public testing::StreamFixture {
 protected:
  RetryTest() {
    service_.AddCallback("Flaky", [this](ServerContext* context, const Text&, Text* reply, Responder done) {
      ++attempts_;
      if (!pushback_.empty()) {
        EXPECT_TRUE(context->AddTrailingMetadata("retry-pushback-ms", pushback_).ok());
      }
      reply->set_value("at last");
      done(attempts_ > failures_ ? absl::OkStatus() : absl::UnavailableError("not today"));
    });
    policy_.attempts_max = 3;
    policy_.idempotent = true;
    policy_.jitter = 0;
  }
  void StartWithPolicy(const std::string& name = "") {
    options_.retries[name] = policy_;
    Start();
  }

  RetryPolicy policy_;
  int failures_ = 0;
  int attempts_ = 0;
  std::string pushback_;
};

TEST_F(RetryTest, CallIsMadeAgainUntilItSucceeds) {
  failures_ = 2;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  EXPECT_FALSE(call->done());
  loop_.Advance(kAWhile);
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(call->reply.value(), "at last");
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryTest, LastAttemptsStatusIsTheCalls) {
  failures_ = 100;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  loop_.Advance(kAWhile);
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kExecuted, "not today");
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryTest, DelaysAreThoseOfThePolicy) {
  failures_ = 2;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  EXPECT_EQ(attempts_, 1);
  loop_.Advance(absl::Milliseconds(49));
  EXPECT_EQ(attempts_, 1);
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(attempts_, 2);
  loop_.Advance(absl::Milliseconds(99));
  EXPECT_EQ(attempts_, 2);
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryTest, WhatMayHaveBeenExecutedIsNotMadeAgainUnlessIdempotent) {
  failures_ = 2;
  policy_.idempotent = false;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kExecuted, "not today");
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryTest, NearestPolicyCounts) {
  failures_ = 1;
  options_.retries[""] = policy_;
  options_.retries["test.Lambda"] = {};
  Start();
  Call(kFlaky);
  loop_.Advance(kAWhile);
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryTest, DeadlineIsForAllAttemptsTogether) {
  failures_ = 100;
  policy_.attempts_max = 100;
  StartWithPolicy();
  const auto call = MakeCall("x");
  call->context.set_timeout(absl::Milliseconds(120));
  StartCall(kFlaky, *call);
  loop_.Advance(absl::Milliseconds(60));
  EXPECT_EQ(attempts_, 2);
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kExecuted, "not today");  // 100 ms more are too many.
}

TEST_F(RetryTest, CancelBetweenAttemptsEndsTheCallAtOnce) {
  failures_ = 100;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_THAT(call->completions, SizeIs(1));
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
  loop_.Advance(kAWhile);
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryTest, ServerMayAskForATimeOrForNoMore) {
  failures_ = 1;
  pushback_ = "7000";
  StartWithPolicy();
  const auto patient = Call(kFlaky);
  loop_.Advance(absl::Milliseconds(6999));
  EXPECT_EQ(attempts_, 1);
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(patient->completions, ElementsAre(absl::OkStatus()));

  attempts_ = 0;
  pushback_ = "-1";
  const auto refused = Call(kFlaky);
  EXPECT_THAT(refused->completions, SizeIs(1));
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryTest, BudgetBoundsWhatAnOutageCosts) {
  failures_ = 1'000'000;
  StartWithPolicy();
  for (int i = 0; i < 100; ++i) Call(kFlaky);
  loop_.Advance(kAWhile);
  EXPECT_LE(attempts_, 105);
  EXPECT_GE(attempts_, 101);
}

TEST_F(RetryTest, LostConnectionsCallIsMadeAgainOnTheNext) {
  StartWithPolicy();
  const auto call = Call("test.Lambda/Hold");
  ASSERT_THAT(held_, SizeIs(1));
  network_.latest_client()->Sever();
  loop_.Advance(absl::Milliseconds(100));
  ASSERT_THAT(held_, SizeIs(2));
  held_[1].done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(RetryTest, StreamThatHasBegunIsNotMadeAgain) {
  StartWithPolicy();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Write("begun");
  loop_.RunUntilIdle();
  served().done(absl::UnavailableError("not today"));
  loop_.Advance(kAWhile);
  EXPECT_THAT(call->completions, SizeIs(1));
  EXPECT_THAT(served_, SizeIs(1));
}

TEST_F(RetryTest, ShutdownEndsWhatWaitsForItsNextAttempt) {
  failures_ = 100;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  EXPECT_THAT(call->completions, IsEmpty());
  channel_.reset();
  ASSERT_THAT(call->completions, SizeIs(1));
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
}

// What the first attempt may have done is not undone by the end of the wait for the second.
TEST_F(RetryTest, CancelBetweenAttemptsIsAsSureAsTheAttemptsBefore) {
  failures_ = 100;
  StartWithPolicy();
  const auto call = Call(kFlaky);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kExecuted, "cancelled");
}

TEST_F(RetryTest, ChannelThatIsDestroyedWhileACallFailsOnItsLoopLeavesNothingDangling) {
  StartWithPolicy();
  const auto call = MakeCall("x");
  call->context.TryCancel();
  loop_.Post([&] { StartCall(kFlaky, *call); });
  ASSERT_TRUE(loop_.RunOneTask());  // What tells the end is posted.
  channel_.reset();
  loop_.RunUntilIdle();
  ASSERT_THAT(call->completions, SizeIs(1));
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbena
