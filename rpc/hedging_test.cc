// Calls that are made several times at once, over a network in memory and in virtual time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Text;

constexpr absl::string_view kHold = "test.Lambda/Hold";

class HedgingTest : public testing::CallFixture {
 protected:
  HedgingTest() {
    policy_.attempts_max = 3;
    policy_.delay = absl::Milliseconds(10);
  }
  void StartWithPolicy(const std::string& name = "") {
    options_.hedging[name] = policy_;
    Start();
  }
  void Answer(size_t attempt, const std::string& text, absl::Status status = absl::OkStatus()) {
    held_.at(attempt).reply->set_value(text);
    held_[attempt].done(std::move(status));
    loop_.RunUntilIdle();
  }

  HedgingPolicy policy_;
};

TEST_F(HedgingTest, SlowAnswerIsAskedForAgainByTheDelay) {
  StartWithPolicy();
  Call(kHold);
  EXPECT_THAT(held_, SizeIs(1));
  loop_.Advance(absl::Milliseconds(9));
  EXPECT_THAT(held_, SizeIs(1));
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(held_, SizeIs(2));
  loop_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(held_, SizeIs(3));
  loop_.Advance(absl::Seconds(10));
  EXPECT_THAT(held_, SizeIs(3));
}

TEST_F(HedgingTest, QuickAnswerIsAskedForOnce) {
  StartWithPolicy();
  const auto call = Call("test.Lambda/Echo", "quick");
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(call->reply.value(), "quick");
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->tally().accepted, 1u);
}

TEST_F(HedgingTest, FirstAnswerIsTheCallsAndTheOtherAttemptsAreCancelled) {
  StartWithPolicy();
  const auto call = Call(kHold);
  loop_.Advance(absl::Milliseconds(10));
  ASSERT_THAT(held_, SizeIs(2));
  ASSERT_TRUE(held_[1].context->AddTrailingMetadata("who", "second").ok());
  held_[1].context->set_attachment(absl::Cord("beside"));
  Answer(1, "from the second");
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(call->reply.value(), "from the second");
  EXPECT_EQ(call->context.trailing_metadata().Find("who"), "second");
  EXPECT_EQ(call->context.attachment(), "beside");
  EXPECT_TRUE(held_[0].context->IsCancelled());
  loop_.Advance(absl::Seconds(1));
  EXPECT_THAT(held_, SizeIs(2));
  Answer(0, "too late");
  EXPECT_EQ(call->reply.value(), "from the second");
}

TEST_F(HedgingTest, EachAttemptCarriesAllThatTheCallDoes) {
  std::vector<std::string> seen;
  service_.AddCallback("See", [&](ServerContext* context, const Text& request, Text*, Responder done) {
    const auto key = context->client_metadata().Find("key");
    seen.push_back(request.value() + std::string(key.value_or("nothing")) + std::string(context->attachment()));
    done(absl::UnavailableError("not this one"));
  });
  StartWithPolicy();
  const auto call = MakeCall("request ");
  ASSERT_TRUE(call->context.AddMetadata("key", "value").ok());
  call->context.set_attachment(absl::Cord("attachment"));
  StartCall("test.Lambda/See", *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen, std::vector<std::string>(3, "request valueattachment"));
}

TEST_F(HedgingTest, FailureThatOthersMayMakeGoodIsFollowedAtOnce) {
  StartWithPolicy();
  const auto call = Call(kHold);
  Answer(0, "", absl::UnavailableError("not today"));
  ASSERT_THAT(held_, SizeIs(2));
  EXPECT_THAT(call->completions, IsEmpty());
  Answer(1, "made good");
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(call->reply.value(), "made good");
}

TEST_F(HedgingTest, FailureForGoodEndsTheCallAndTheOthers) {
  StartWithPolicy();
  const auto call = Call(kHold);
  loop_.Advance(absl::Milliseconds(10));
  Answer(0, "", absl::NotFoundError("no such thing"));
  ExpectFailed(*call, absl::StatusCode::kNotFound, Certainty::kExecuted, "no such thing");
  EXPECT_TRUE(held_.at(1).context->IsCancelled());
}

TEST_F(HedgingTest, LastFailureIsTheCallsAndAsSureAsTheSurest) {
  policy_.attempts_max = 2;
  StartWithPolicy();
  const auto call = Call(kHold);
  Answer(0, "", absl::UnavailableError("the first"));
  EXPECT_THAT(call->completions, IsEmpty());
  Answer(1, "", absl::UnavailableError("the last"));
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kExecuted, "the last");
}

TEST_F(HedgingTest, CancelEndsTheCallAtOnceAndEveryAttempt) {
  StartWithPolicy();
  const auto call = Call(kHold);
  loop_.Advance(absl::Milliseconds(10));
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "cancelled");
  for (const Held& held : held_) EXPECT_TRUE(held.context->IsCancelled());
}

TEST_F(HedgingTest, CallThatWasCancelledBeforeItWasMadeIsNotSent) {
  StartWithPolicy();
  const auto call = MakeCall("x");
  call->context.TryCancel();
  StartCall(kHold, *call);
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kNotSent, "before it was made");
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(HedgingTest, DeadlineIsForAllAttemptsTogether) {
  StartWithPolicy();
  const auto call = MakeCall("x");
  call->context.set_timeout(absl::Milliseconds(15));
  StartCall(kHold, *call);
  loop_.Advance(absl::Milliseconds(14));
  EXPECT_THAT(held_, SizeIs(2));
  EXPECT_THAT(call->completions, IsEmpty());
  loop_.Advance(absl::Milliseconds(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "");
}

TEST_F(HedgingTest, BudgetBoundsWhatAnOutageCosts) {
  int attempts = 0;
  service_.AddCallback("Fail", [&attempts](ServerContext*, const Text&, Text*, Responder done) {
    ++attempts;
    done(absl::UnavailableError("not today"));
  });
  StartWithPolicy();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Call("test.Lambda/Fail")->completions, SizeIs(1));
  }
  EXPECT_GE(attempts, 101);
  EXPECT_LE(attempts, 105);
}

TEST_F(HedgingTest, ChannelThatIsDestroyedEndsItsHedgedCallsOnce) {
  StartWithPolicy();
  const auto call = Call(kHold);
  loop_.Advance(absl::Milliseconds(10));
  channel_.reset();
  loop_.RunUntilIdle();
  ASSERT_THAT(call->completions, SizeIs(1));
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
}

TEST_F(HedgingTest, CallMayBeDestroyedWithItsMessagesWhileOtherAttemptsGoOn) {
  StartWithPolicy();
  auto call = Call(kHold, std::string(100'000, 'x'));
  loop_.Advance(absl::Milliseconds(10));
  Answer(0, "first");
  ASSERT_THAT(call->completions, SizeIs(1));
  call.reset();  // The sanitizers see what the second still reads and writes.
  Answer(1, "second");
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(HedgingTest, RequestThatCannotBeSentEndsTheCallOnceAndMakesNoOther) {
  options_.transport.message_bytes_max = 1000;
  for (const absl::Duration delay : {absl::ZeroDuration(), absl::Milliseconds(10)}) {
    policy_.delay = delay;
    StartWithPolicy();
    const auto call = Call(kHold, std::string(2000, 'x'));
    loop_.Advance(absl::Seconds(1));
    ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "1000");
    EXPECT_THAT(held_, IsEmpty());
    channel_.reset();
    StopServer();
  }
}

TEST_F(HedgingTest, FullChannelCostsNoCallItsFirstAttempt) {
  options_.calls_in_flight_max = 2;
  StartWithPolicy();
  const auto first = Call(kHold);
  const auto second = Call(kHold);
  loop_.Advance(absl::Milliseconds(100));  // There is no room for another attempt of either.
  EXPECT_THAT(first->completions, IsEmpty());
  EXPECT_THAT(second->completions, IsEmpty());
  Answer(0, "first");
  EXPECT_THAT(first->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(HedgingTest, NamesOfBothRetriesAndHedgingAreRefusedInWords) {
  options_.hedging["test.Lambda"] = policy_;
  options_.retries["test.Lambda"] = {};
  const auto core = rpc::ChannelCore::Open(&network_, kAddress, options_);
  ASSERT_FALSE(core.ok());
  EXPECT_THAT(std::string(core.status().message()),
              ::testing::HasSubstr("\"test.Lambda\": a call is one or the other"));
}

}  // namespace
}  // namespace verbena
