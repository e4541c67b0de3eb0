#include "rpc/core/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace verbena::rpc {
namespace {

using Kind = ClientSession::ActionKind;
using Effect = ClientSession::ResponseEffect;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ClientSession::Epoch kEpoch = 1;

class ClientSessionTest : public ::testing::Test {
 protected:
  // What the session wants done, and the statuses of what it completed.
  std::vector<Kind> Drain() {
    std::vector<Kind> kinds;
    while (std::optional<ClientSession::Action> action = session_.NextAction()) {
      kinds.push_back(action->kind);
      if (action->kind == Kind::kComplete) completed_.push_back(action->status);
    }
    return kinds;
  }
  uint64_t Start(absl::Duration timeout = absl::InfiniteDuration()) {
    return session_.Start(now_ + timeout, now_)->call_id;
  }
  void Connect(ClientSession::Epoch epoch = kEpoch) { session_.OnConnected(epoch, now_); }
  // A call whose request is with the connection, on a connected session.
  uint64_t StartSending(absl::Duration timeout = absl::InfiniteDuration()) {
    if (session_.current_epoch() == 0) Connect();
    const uint64_t id = Start(timeout);
    Drain();
    return id;
  }
  uint64_t StartAwaiting(absl::Duration timeout = absl::InfiniteDuration()) {
    const uint64_t id = StartSending(timeout);
    session_.OnSent(kEpoch, id, RequestSendOutcome::kDelivered, now_);
    return id;
  }
  void Pass(absl::Duration duration) {
    now_ += duration;
    session_.OnTime(now_);
  }
  void ExpectCompletedOnce(absl::StatusCode code, Certainty certainty, absl::string_view words) {
    ASSERT_EQ(completed_.size(), 1u);
    EXPECT_EQ(completed_[0].code(), code) << completed_[0];
    EXPECT_EQ(GetCertainty(completed_[0]), certainty) << completed_[0];
    EXPECT_THAT(std::string(completed_[0].message()), HasSubstr(std::string(words)));
  }

  absl::Time now_ = absl::UnixEpoch();
  ClientSession session_{ClientSessionOptions{.calls_max = 4, .message_bytes_max = 1000}};
  std::vector<absl::Status> completed_;
};

TEST_F(ClientSessionTest, CallWaitsForTheConnectionAndIsSentInOrder) {
  const uint64_t first = Start();
  const uint64_t second = Start();
  EXPECT_THAT(Drain(), IsEmpty());
  EXPECT_EQ(session_.calls_waiting(), 2u);
  Connect();
  EXPECT_EQ(session_.NextAction()->call_id, first);
  EXPECT_EQ(session_.NextAction()->call_id, second);
  EXPECT_EQ(session_.calls_waiting(), 0u);
}

TEST_F(ClientSessionTest, CallOnAConnectionIsSentByWhoStartsItWithoutAnAction) {
  Connect();
  EXPECT_TRUE(session_.Start(absl::InfiniteFuture(), now_)->send_now);
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ClientSessionTest, CallBehindActionsThatAreNotTakenYetIsSentAfterThem) {
  const uint64_t first = Start();
  Connect();
  const auto second = session_.Start(absl::InfiniteFuture(), now_);
  EXPECT_FALSE(second->send_now);
  EXPECT_EQ(session_.NextAction()->call_id, first);
  EXPECT_EQ(session_.NextAction()->call_id, second->call_id);
}

TEST_F(ClientSessionTest, CallThatWaitsForAConnectionOrIsOverIsNotSentByWhoStartsIt) {
  EXPECT_FALSE(session_.Start(absl::InfiniteFuture(), now_)->send_now);
  Connect();
  Drain();
  EXPECT_FALSE(session_.Start(now_, now_)->send_now);
}

TEST_F(ClientSessionTest, RequestThatLeftIsAwaitedAndToldWhenItsTimeIsUp) {
  Connect();
  session_.OnLeft(Start(absl::Seconds(1)));
  Pass(absl::Seconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kTellCancelled, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, CallThatIsCancelledBeforeItIsSentEndsAsNotSent) {
  Connect();
  const uint64_t id = Start();
  session_.Cancel(id, now_);
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNotSent, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kNotSent, "cancelled");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, ResponseCompletesACallOnce) {
  const uint64_t id = StartAwaiting();
  EXPECT_EQ(session_.OnResponse(kEpoch, id), Effect::kEnds);
  EXPECT_EQ(session_.OnResponse(kEpoch, id), Effect::kNone);
  EXPECT_EQ(session_.calls(), 0u);
  EXPECT_EQ(session_.stale_responses(), 1u);
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ClientSessionTest, ResponseThatOvertakesTheSendReportKeepsTheSlotUntilTheReport) {
  const uint64_t id = StartSending();
  EXPECT_EQ(session_.OnResponse(kEpoch, id), Effect::kCompletes);
  EXPECT_EQ(session_.calls(), 1u);
  session_.OnSent(kEpoch, id, RequestSendOutcome::kDelivered, now_);
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, CallPastTheLimitIsNotStarted) {
  for (int i = 0; i < 4; ++i) Start();
  EXPECT_FALSE(session_.Start(absl::InfiniteFuture(), now_).has_value());
}

TEST_F(ClientSessionTest, CallWhoseDeadlineHasPassedIsNotSent) {
  Connect();
  Start(-absl::Milliseconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, WaitingCallFailsAfterTheConnectTimeoutWithTheLastConnectError) {
  Start();
  session_.OnConnectFailed(absl::UnavailableError("nobody listens"));
  EXPECT_EQ(session_.NextDeadline(), now_ + absl::Seconds(3));
  Pass(absl::Seconds(3));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kUnavailable, Certainty::kNotSent, "nobody listens");
}

TEST_F(ClientSessionTest, WaitingCallsOwnDeadlineComesFirst) {
  Start(absl::Seconds(1));
  Pass(absl::Seconds(1));
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "before there was a connection");
}

TEST_F(ClientSessionTest, WithoutConnectTimeoutAFailedAttemptFailsTheCall) {
  ClientSession session(ClientSessionOptions{.connect_timeout = absl::ZeroDuration()});
  session.Start(absl::InfiniteFuture(), now_);
  EXPECT_FALSE(session.NextAction().has_value());
  session.OnConnectFailed(absl::UnavailableError("nobody listens"));
  EXPECT_EQ(session.NextAction()->kind, Kind::kComplete);
}

TEST_F(ClientSessionTest, DeadlineOfADeliveredCallTellsTheServer) {
  StartAwaiting(absl::Seconds(1));
  Pass(absl::Seconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kTellCancelled, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, DeadlineOfAQueuedSendWithdrawsItAndReportsNotSent) {
  const uint64_t id = StartSending(absl::Seconds(1));
  Pass(absl::Seconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend));
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNotSent, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
}

TEST_F(ClientSessionTest, DeadlineIsKeptOnADeadConnectionThatReportsNothing) {
  const uint64_t id = StartSending(absl::Seconds(1));
  Pass(absl::Seconds(1));
  Pass(absl::Milliseconds(5));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend, Kind::kTellCancelled, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
  EXPECT_EQ(session_.calls(), 1u);  // The transport may still read the request.
  session_.OnSent(kEpoch, id, RequestSendOutcome::kUnknown, now_);
  EXPECT_EQ(session_.calls(), 0u);
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ClientSessionTest, CancelThatComesTooLateToWithdrawTellsTheServer) {
  const uint64_t id = StartSending();
  session_.Cancel(id, now_);
  session_.OnSent(kEpoch, id, RequestSendOutcome::kDelivered, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend, Kind::kTellCancelled, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown, "cancelled");
}

TEST_F(ClientSessionTest, CancelWhileWaitingEndsTheCallNotSent) {
  session_.Cancel(Start(), now_);
  session_.Cancel(12345, now_);
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kNotSent, "cancelled");
  Connect();
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ClientSessionTest, CancelBeforeTheRequestIsTakenSendsNothing) {
  const uint64_t id = Start();
  Connect();
  session_.Cancel(id, now_);
  const std::vector<Kind> kinds = Drain();
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), Kind::kSend), 0);
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kNotSent, "cancelled");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, CancelWhileFetchingStopsTheFetch) {
  const uint64_t id = StartAwaiting();
  EXPECT_TRUE(session_.OnResponseAnnounced(kEpoch, id, 900));
  session_.Cancel(id, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelFetch, Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kExecuted, "cancelled");
  session_.OnFetchFailed(kEpoch, id, absl::CancelledError(""));
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ClientSessionTest, TooLargeResponseIsRefusedSayingBothNumbers) {
  const uint64_t id = StartAwaiting();
  EXPECT_FALSE(session_.OnResponseAnnounced(kEpoch, id, 1001));
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kResourceExhausted, Certainty::kExecuted, "1001");
  EXPECT_THAT(std::string(completed_[0].message()), HasSubstr("1000"));
}

TEST_F(ClientSessionTest, ResponseOfAnotherEpochOrCallIsStale) {
  const uint64_t id = StartAwaiting();
  EXPECT_EQ(session_.OnResponse(kEpoch + 1, id), Effect::kNone);
  EXPECT_EQ(session_.OnResponse(kEpoch, id + 1), Effect::kNone);
  EXPECT_FALSE(session_.OnResponseAnnounced(kEpoch, id + (uint64_t{1} << 32), 10));
  EXPECT_EQ(session_.stale_responses(), 3u);
  EXPECT_EQ(session_.OnResponse(kEpoch, id), Effect::kEnds);
}

TEST_F(ClientSessionTest, LostConnectionFailsDeliveredCallsAsUnknown) {
  StartAwaiting();
  session_.OnDisconnected(kEpoch, absl::UnavailableError("the peer died"));
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kUnavailable, Certainty::kOutcomeUnknown, "the peer died");
  EXPECT_EQ(session_.calls(), 0u);
}

TEST_F(ClientSessionTest, LostConnectionFailsUnsentCallsAsNotSentWithTheReason) {
  const uint64_t id = StartSending();
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNotSent, now_);
  EXPECT_THAT(Drain(), IsEmpty());
  session_.OnDisconnected(kEpoch, absl::UnavailableError("the peer died"));
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kUnavailable, Certainty::kNotSent, "the peer died");
}

TEST_F(ClientSessionTest, RefusedRequestEndsWithTheServersReason) {
  const uint64_t id = StartSending();
  session_.OnSent(kEpoch, id, RequestSendOutcome::kRefused, now_);
  EXPECT_EQ(session_.OnResponse(kEpoch, id), Effect::kEnds);
}

TEST_F(ClientSessionTest, RefusedRequestWithoutAReasonEndsByItself) {
  const uint64_t id = StartSending();
  session_.OnSent(kEpoch, id, RequestSendOutcome::kRefused, now_);
  Pass(absl::Milliseconds(500));
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kUnavailable, Certainty::kNotSent, "not delivered");
}

TEST_F(ClientSessionTest, RequestThatFoundNoMemoryFailsAtOnce) {
  const uint64_t id = StartSending();
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNoMemory, now_);
  Drain();
  ExpectCompletedOnce(absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "memory");
}

TEST_F(ClientSessionTest, UnsentCallOfADrainingConnectionGoesToTheNextOne) {
  const uint64_t id = StartSending();
  session_.OnPeerDraining(kEpoch);
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNotSent, now_);
  session_.OnDisconnected(kEpoch, absl::OkStatus());
  EXPECT_THAT(Drain(), IsEmpty());
  Connect(kEpoch + 1);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kSend));
  EXPECT_EQ(session_.OnResponse(kEpoch + 1, id), Effect::kCompletes);
}

TEST_F(ClientSessionTest, UnsentCallOfADrainingConnectionWhoseTimeIsUpIsNotSentOnTheNext) {
  const uint64_t id = StartSending(absl::Seconds(1));
  session_.OnPeerDraining(kEpoch);
  Connect(kEpoch + 1);
  now_ += absl::Seconds(1);
  session_.OnSent(kEpoch, id, RequestSendOutcome::kNotSent, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
}

TEST_F(ClientSessionTest, CallsOnADrainingConnectionFinishWhileNewOnesWait) {
  const uint64_t old_call = StartAwaiting();
  session_.OnPeerDraining(kEpoch);
  Start();
  EXPECT_THAT(Drain(), IsEmpty());
  EXPECT_EQ(session_.calls_waiting(), 1u);
  EXPECT_EQ(session_.OnResponse(kEpoch, old_call), Effect::kEnds);
}

TEST_F(ClientSessionTest, ShutdownCompletesEverythingOnceAsCancelled) {
  StartAwaiting();
  StartSending();
  session_.OnPeerDraining(kEpoch);
  Start();
  session_.Shutdown("the channel was destroyed");
  session_.OnDisconnected(kEpoch, absl::OkStatus());
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete, Kind::kComplete, Kind::kComplete));
  EXPECT_EQ(session_.calls(), 0u);
  EXPECT_EQ(session_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(ClientSessionTest, SlotIsNotUsedAgainBeforeItsCompletionIsTaken) {
  const uint64_t id = Start();
  session_.Cancel(id, now_);
  EXPECT_NE(CallIndex(Start()), CallIndex(id));
  Drain();
  EXPECT_EQ(CallIndex(Start()), CallIndex(id));
}

TEST_F(ClientSessionTest, AnnouncedResponseDoesNotUndoTheCancelThatItCrosses) {
  const uint64_t id = StartSending();
  session_.Cancel(id, now_);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend));
  EXPECT_FALSE(session_.OnResponseAnnounced(kEpoch, id, 900));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  ExpectCompletedOnce(absl::StatusCode::kCancelled, Certainty::kExecuted, "cancelled");
}

TEST_F(ClientSessionTest, DroppedCallIsNoneAnyMore) {
  const uint64_t id = StartSending();
  session_.Drop(id);
  EXPECT_FALSE(session_.has_actions());
  EXPECT_EQ(session_.calls(), 0u);
  EXPECT_EQ(session_.OnResponse(kEpoch, id), ClientSession::ResponseEffect::kNone);
  EXPECT_EQ(session_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(ClientSessionTest, CallThatHasComeToItsEndIsNotDropped) {
  const uint64_t id = StartSending();
  session_.OnDisconnected(kEpoch, absl::UnavailableError("gone"));
  EXPECT_FALSE(session_.Drop(id));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kComplete));
  EXPECT_FALSE(session_.Drop(id));
}

TEST_F(ClientSessionTest, CallThatIsDroppedBeforeItsConnectionIsThereIsNotSent) {
  session_.OnDisconnected(kEpoch, absl::UnavailableError("gone"));
  const uint64_t id = session_.Start(absl::InfiniteFuture(), now_)->call_id;
  session_.Drop(id);
  EXPECT_EQ(session_.calls_waiting(), 0u);
  session_.OnConnected(kEpoch + 1, now_);
  EXPECT_THAT(Drain(), ElementsAre());
}

}  // namespace
}  // namespace verbena::rpc
