// How calls end when time, the caller or the connection ends them.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;
using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";

class CallLifetimeTest : public testing::CallFixture {
 protected:
  std::shared_ptr<testing::TestCall> CallWithTimeout(absl::string_view method, absl::Duration timeout,
                                                     size_t bytes = 1) {
    auto call = MakeCall(std::string(bytes, 'x'));
    call->context.set_timeout(timeout);
    StartCall(method, *call);
    loop_.RunUntilIdle();
    return call;
  }
};

TEST_F(CallLifetimeTest, DeadlineEndsTheCallAndTellsTheHandler) {
  Start();
  const auto call = CallWithTimeout(kHold, absl::Seconds(1));
  EXPECT_FALSE(held_.at(0).context->IsCancelled());
  EXPECT_EQ(held_.at(0).context->deadline(), loop_.WallNow() + absl::Seconds(1));
  loop_.Advance(absl::Seconds(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CallLifetimeTest, DeadlineOnTheWallClockPassesWithTheLoopsTime) {
  Start();
  loop_.Advance(absl::Hours(5));
  const auto call = MakeCall("x");
  const absl::Time deadline = loop_.WallNow() + absl::Hours(1);
  call->context.set_deadline(deadline);
  StartCall(kHold, *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(held_.at(0).context->deadline(), deadline);
  loop_.Advance(absl::Minutes(59));
  EXPECT_FALSE(call->done());
  loop_.Advance(absl::Minutes(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
}

TEST_F(CallLifetimeTest, DefaultTimeoutHoldsWhereTheContextSetsNone) {
  options_.default_timeout = absl::Seconds(2);
  Start();
  const auto call = Call(kHold);
  loop_.Advance(absl::Seconds(2));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
}

TEST_F(CallLifetimeTest, DeadlineThatPassesInALongTurnIsInThePast) {
  Start();
  auto call = MakeCall("x");
  call->context.set_deadline(loop_.WallNow() + absl::Seconds(1));
  loop_.HoldUp(absl::Seconds(2));
  StartCall(kEcho, *call);
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
}

TEST_F(CallLifetimeTest, TimeoutIsCountedFromTheCallHoweverLongTheTurnHasLasted) {
  Start();
  auto call = MakeCall("x");
  call->context.set_timeout(absl::Seconds(1));
  loop_.HoldUp(absl::Seconds(2));
  StartCall(kHold, *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(held_.at(0).context->deadline(), loop_.WallNow() + absl::Seconds(1));
  loop_.Advance(absl::Milliseconds(999));
  EXPECT_FALSE(call->done());
  loop_.Advance(absl::Milliseconds(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
}

TEST_F(CallLifetimeTest, DeadlineInThePastIsNotSent) {
  Start();
  auto call = MakeCall("x");
  call->context.set_deadline(loop_.WallNow() - absl::Seconds(1));
  StartCall(kEcho, *call);
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
  EXPECT_EQ(server_->tally().accepted, 0u);
}

TEST_F(CallLifetimeTest, DeadlineIsKeptOnADeadConnection) {
  Start();
  network_.latest_client()->BlackHole();
  const auto call = CallWithTimeout(kEcho, absl::Seconds(1));
  loop_.Advance(absl::Milliseconds(1005));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
}

TEST_F(CallLifetimeTest, DeadlineWhileTheSendIsQueuedSaysNotSent) {
  Start();
  network_.latest_client()->Stall();
  const auto call = CallWithTimeout(kEcho, absl::Seconds(1));
  loop_.Advance(absl::Seconds(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
  network_.latest_client()->Unstall();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().accepted, 0u);
}

TEST_F(CallLifetimeTest, RequestThatExpiresWhileFetchedNeverRuns) {
  Start();
  network_.latest_server()->HoldFetches();
  const auto call = CallWithTimeout(kHold, absl::Seconds(1), 100000);
  EXPECT_EQ(server_->tally().calls(), 1u);
  loop_.Advance(absl::Seconds(2));
  ASSERT_TRUE(call->done());
  EXPECT_EQ(call->status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(server_->tally().calls(), 0u);
  EXPECT_EQ(server_->tally().dropped, 1u);
}

TEST_F(CallLifetimeTest, CancelEndsTheCallAndTellsTheHandler) {
  Start();
  const auto call = Call(kHold);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "cancelled");
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
}

TEST_F(CallLifetimeTest, CancelBeforeTheCallEndsItUnsent) {
  Start();
  auto call = MakeCall("x");
  call->context.TryCancel();
  StartCall(kEcho, *call);
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kNotSent, "cancelled");
}

TEST_F(CallLifetimeTest, CancelAfterCompletionOrWithoutAChannelDoesNothing) {
  Start();
  const auto call = Call(kEcho);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  channel_.reset();
  call->context.TryCancel();
  EXPECT_EQ(call->completions, std::vector<absl::Status>(1));
}

// Whichever connection they are on and whoever had their place before, contexts cancel their own calls.
TEST_F(CallLifetimeTest, CancelsOverManyConnectionsEndTheirOwnCalls) {
  options_.connections = 2;
  Start();
  const std::vector<std::shared_ptr<testing::TestCall>> calls = {Call(kHold), Call(kHold), Call(kHold), Call(kHold)};
  const auto over = Call(kEcho);
  ASSERT_TRUE(over->done());
  const auto after = Call(kHold);
  over->context.TryCancel();
  for (const size_t cancelled : {2, 1}) calls[cancelled]->context.TryCancel();
  loop_.RunUntilIdle();
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i]->done(), i == 1 || i == 2) << i;
  EXPECT_FALSE(after->done());

  calls[2]->completions.clear();
  calls[2]->context.Reset();
  StartCall(kHold, *calls[2]);
  loop_.RunUntilIdle();
  EXPECT_FALSE(calls[2]->done());
  calls[2]->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectFailed(*calls[2], absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "cancelled");
  EXPECT_FALSE(after->done());
}

TEST_F(CallLifetimeTest, AHandlerKnowsItsPeerWhenTheServerIsGone) {
  Start();
  const auto call = Call(kHold);
  const std::string peer = held_.at(0).context->peer();
  EXPECT_FALSE(peer.empty());
  StopServer();
  EXPECT_EQ(held_.at(0).context->peer(), peer);
  EXPECT_FALSE(held_.at(0).context->peer_identity().authenticated());
}

TEST_F(CallLifetimeTest, CancelWhileAReplyIsFetchedFreesBothEnds) {
  Start();
  network_.latest_client()->HoldFetches();
  const auto call = Call(kEcho, std::string(100000, 'x'));
  EXPECT_FALSE(call->done());
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kExecuted, "cancelled");
  EXPECT_EQ(server_->tally().calls(), 0u);
  EXPECT_THAT(channel_->DescribeState(), HasSubstr(" 0 calls in flight"));
}

TEST_F(CallLifetimeTest, LostConnectionFailsCallsAndTheNextOnesGoOverANewOne) {
  Start();
  const auto call = Call(kHold);
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kOutcomeUnknown, "the link broke");
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_EQ(network_.connects(), 2u);
}

TEST_F(CallLifetimeTest, UnsentCallsOfALostConnectionSaySo) {
  Start();
  network_.latest_client()->Stall();
  const auto call = Call(kEcho);
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kNotSent, "the link broke");
}

TEST_F(CallLifetimeTest, ClientThatGoesLeavesNothingAtTheServer) {
  Start();
  const auto call = Call(kHold);
  EXPECT_EQ(server_->connections(), 1u);
  channel_.reset();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "channel was destroyed");
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
  EXPECT_EQ(server_->connections(), 0u);
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CallLifetimeTest, ResponderMayOutliveTheServer) {
  Start();
  const auto call = Call(kHold);
  StopServer();
  held_.at(0).done(absl::OkStatus());
  held_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CallLifetimeTest, ChannelMayDieInACompletionOfItsOwn) {
  Start();
  auto call = MakeCall("x");
  const auto other = Call(kHold);
  absl::Status status;
  CallbackUnaryCall(*channel_, kEcho, &call->context, &call->request, &call->reply, [&](absl::Status done) {
    status = std::move(done);
    channel_.reset();
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(status, absl::OkStatus());
  ExpectFailed(*other, absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "channel was destroyed");
}

TEST_F(CallLifetimeTest, ServerDrainsItsCallsBeforeItCloses) {
  Start();
  const auto call = Call(kHold);
  bool drained = false;
  listener_.reset();
  server_->Drain([&drained] { drained = true; });
  loop_.RunUntilIdle();
  EXPECT_FALSE(drained);
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_TRUE(drained);
}

TEST_F(CallLifetimeTest, CallThatCrossesADrainIsAnsweredAndTheConnectionCloses) {
  Start();
  bool drained = false;
  server_->Drain([&drained] { drained = true; });
  const auto call = Call(kEcho);  // Sent before the client hears of the drain.
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_TRUE(drained);
}

TEST_F(CallLifetimeTest, ServerWithoutCallsDrainsAtOnce) {
  Start();
  bool drained = false;
  server_->Drain([&drained] { drained = true; });
  loop_.RunUntilIdle();
  EXPECT_TRUE(drained);
  EXPECT_EQ(server_->connections(), 0u);
}

// Whatever is wrong with it: its caller may hold a lock.
TEST_F(CallLifetimeTest, DoneDoesNotRunWhileTheCallIsMade) {
  Start();
  bool making = false, ran = false;
  const auto call = MakeCall("late");
  call->context.set_timeout(-absl::Seconds(1));
  loop_.Post([&] {
    making = true;
    CallbackUnaryCall(*channel_, kEcho, &call->context, &call->request, &call->reply, [&](const absl::Status& status) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_FALSE(making);
      ran = true;
    });
    making = false;
  });
  loop_.RunUntilIdle();
  EXPECT_TRUE(ran);
}

TEST_F(CallLifetimeTest, WhoTriesAgainInDoneLetsOthersRun) {
  options_.transport.message_bytes_max = 1000;
  Start();
  const auto call = MakeCall(std::string(2000, 'x'));
  bool other_has_run = false;
  int tries = 0;
  std::function<void()> make = [&] {
    CallbackUnaryCall(*channel_, kEcho, &call->context, &call->request, &call->reply, [&](const absl::Status&) {
      if (other_has_run || ++tries == 1000) return;
      call->context.Reset();
      make();
    });
  };
  loop_.Post([&] { make(); });
  loop_.Post([&] { other_has_run = true; });
  loop_.RunUntilIdle();
  EXPECT_TRUE(other_has_run);
  EXPECT_LT(tries, 10);
}

// One that cannot be sent holds up nobody who comes behind it.
TEST_F(CallLifetimeTest, CallBehindOneThatFailsIsSentAtOnce) {
  options_.transport.message_bytes_max = 1000;
  Start();
  const auto large = MakeCall(std::string(2000, 'x'));
  const auto call = MakeCall("call");
  loop_.Post([&] {
    StartCall(kHold, *large);
    StartCall(kHold, *call);
    EXPECT_EQ(network_.latest_client()->messages_sent(), 1u);
  });
  loop_.RunUntilIdle();
  ExpectFailed(*large, absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "1000");
  EXPECT_EQ(held_.size(), 1u);
}

}  // namespace
}  // namespace verbena
