#include "transport/protocol/rendezvous_receiver.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/frame_of.h"
#include "transport/protocol/rendezvous_receiver_fixture.h"

namespace verbena::protocol {
namespace {

TEST_F(RendezvousReceiverTest, AMessageIsReadCheckedDeliveredAndFinished) {
  const uint64_t id = Accepted(1, 1500);
  const auto landing = std::get<AllocateLanding>(*receiver_.NextAction());
  EXPECT_EQ(landing.fetch_id, id);
  EXPECT_EQ(landing.bytes, 1500 + wire::kIdentityBytes);
  receiver_.OnLanding(id);
  const PostRead first = *NextRead(), second = *NextRead();
  EXPECT_EQ(first.length, kChunk);
  EXPECT_EQ(second.length, 532u);
  EXPECT_EQ(second.remote_address, first.remote_address + kChunk);
  EXPECT_EQ(second.landing_offset, kChunk);
  EXPECT_FALSE(receiver_.NextAction().has_value());
  EXPECT_TRUE(receiver_.OnReadCompleted(id, true));
  EXPECT_FALSE(receiver_.HasLanded(id));
  EXPECT_TRUE(receiver_.OnReadCompleted(id, true));
  EXPECT_TRUE(receiver_.HasLanded(id));
  const CheckIdentity check = Next<CheckIdentity>();
  EXPECT_EQ(check.expected.epoch, kEpoch);
  EXPECT_EQ(check.expected.payload_bytes, 1500u);
  receiver_.OnIdentity(id, true);
  EXPECT_EQ(Next<Deliver>().fetch_id, id);
  ExpectFinish(1, wire::FinishReason::kFetched);
  EXPECT_TRUE(receiver_.empty());
}

TEST_F(RendezvousReceiverTest, ARefusedMessageIsFinishedUnfetched) {
  receiver_.OnVerdict(Offered(1, 1500), Verdict::kRefuse);
  ExpectFinish(1, wire::FinishReason::kRefused);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(RendezvousReceiverTest, AMessageBeyondTheLimitIsRefusedWhateverTheVerdict) {
  receiver_.OnVerdict(Offered(1, 100001), Verdict::kRefuse);
  EXPECT_TRUE(actions_.empty());
  ExpectFinish(1, wire::FinishReason::kRefused);
  receiver_.OnVerdict(Offered(2, 100001), Verdict::kFetch);
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kTooLong);
  ExpectFinish(2, wire::FinishReason::kRefused);
}

TEST_F(RendezvousReceiverTest, AFetchWithoutMemoryIsFinishedSo) {
  const uint64_t id = Accepted(1, 1500);
  EXPECT_EQ(AskedFor(), id);
  receiver_.OnLandingFailed(id);
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kNoMemory);
  ExpectFinish(1, wire::FinishReason::kNoMemory);
}

TEST_F(RendezvousReceiverTest, AnotherIdentityIsDataLoss) {
  const uint64_t id = Accepted(1, 100);
  NextRead();
  receiver_.OnReadCompleted(id, true);
  Next<CheckIdentity>();
  receiver_.OnIdentity(id, false);
  Next<ReleaseLanding>();
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kBadIdentity);
  ExpectFinish(1, wire::FinishReason::kFailed);
}

TEST_F(RendezvousReceiverTest, ASmallFetchGoesAheadOfALargeOne) {
  const uint64_t large = AcceptedAlone(1, 50000);
  NextRead();
  const uint64_t small = AcceptedAlone(2, 100);
  EXPECT_EQ(NextRead()->fetch_id, small);
  receiver_.OnReadCompleted(large, true);
  EXPECT_EQ(NextRead()->fetch_id, large);
}

TEST_F(RendezvousReceiverTest, FetchesOfOneSizeAreFinishedOneAfterAnother) {
  const uint64_t first = AcceptedAlone(1, 1900), second = AcceptedAlone(2, 1900), third = AcceptedAlone(3, 1900);
  EXPECT_EQ(ReadOneByOne(6), (std::vector<uint64_t>{first, first, second, second, third, third}));
}

TEST_F(RendezvousReceiverTest, TheOldestIsReadNowAndThenWhileSmallerOnesCome) {
  const uint64_t large = AcceptedAlone(0, 50000);
  for (uint32_t transfer = 1; transfer < kTransfersMax; ++transfer) AcceptedAlone(transfer, 900);
  constexpr int kTurns = 3;
  const std::vector<uint64_t> reads = ReadOneByOne(kTurns * RendezvousReceiver::kOldestsTurn);
  EXPECT_EQ(std::count(reads.begin(), reads.end(), large), kTurns);
}

TEST_F(RendezvousReceiverTest, ALandingIsAskedForWhenItsTurnHasCome) {
  const uint64_t first = AcceptedAlone(1, 2900), second = AcceptedAlone(2, 2900);
  EXPECT_EQ(AskedFor(), first);
  receiver_.OnLanding(first);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<PostRead>(*receiver_.NextAction()).fetch_id, first);
    receiver_.OnReadCompleted(first, true);
  }
  EXPECT_EQ(AskedFor(), second);
}

TEST_F(RendezvousReceiverTest, WhileOneWaitsForMemoryOthersAreRead) {
  const uint64_t first = AcceptedAlone(1, 2900), second = AcceptedAlone(2, 2900);
  EXPECT_EQ(AskedFor(), first);
  EXPECT_EQ(AskedFor(), second);  // All that was asked for before was performed, and the first has no landing.
  receiver_.OnLanding(second);
  EXPECT_EQ(ReadOneByOne(2), (std::vector<uint64_t>{second, second}));
  receiver_.OnLanding(first);
  EXPECT_EQ(ReadOneByOne(2), (std::vector<uint64_t>{second, first}));
}

TEST_F(RendezvousReceiverTest, ReadsInFlightAreBoundedByTheDepth) {
  for (uint32_t transfer = 0; transfer < 6; ++transfer) AcceptedAlone(transfer, 10);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(NextRead().has_value());
  EXPECT_FALSE(receiver_.NextAction().has_value());
}

TEST_F(RendezvousReceiverTest, AMessageIsNotOvertakenByALaterOneOfItsCall) {
  const uint64_t first = Accepted(1, 5000), second = Accepted(2, 100);
  EXPECT_EQ(AskedFor(), first);
  receiver_.OnLanding(first);
  const std::vector<uint64_t> reads = ReadOneByOne(7);
  EXPECT_EQ(reads, (std::vector<uint64_t>{first, first, first, first, first, first, second}));
}

TEST_F(RendezvousReceiverTest, NorWhileItWaitsForMemory) {
  const uint64_t first = Accepted(1, 5000);
  Accepted(2, 100);
  EXPECT_EQ(AskedFor(), first) << "who asks first is served first";
}

TEST_F(RendezvousReceiverTest, NoLandingIsAskedForWhileNoReadCouldBeMade) {
  AcceptedAlone(1, 1500);
  NextRead();
  NextRead();
  AcceptedAlone(2, 600);
  EXPECT_FALSE(receiver_.NextAction().has_value()) << "1,532 bytes are in flight, of 2,000";
}

TEST_F(RendezvousReceiverTest, ARefusedLandingLetsOthersBeRead) {
  const uint64_t first = AcceptedAlone(1, 900), second = AcceptedAlone(2, 900);
  EXPECT_EQ(AskedFor(), first);
  receiver_.OnLandingFailed(first);
  EXPECT_EQ(NextRead()->fetch_id, second);
}

TEST_F(RendezvousReceiverTest, AFetchThatIsCancelledBeforeItsTurnHasNoLandingToGiveUp) {
  Accepted(1, 1500);
  receiver_.Cancel(7);
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kCancelled);
  EXPECT_TRUE(actions_.empty());
  EXPECT_FALSE(receiver_.HasPending());
  ExpectFinish(1, wire::FinishReason::kRefused);
}

TEST_F(RendezvousReceiverTest, AWithdrawnFetchHoldsItsLandingUntilItsReadsAreBack) {
  const uint64_t id = Accepted(1, 5000);
  NextRead();
  NextRead();
  ASSERT_TRUE(receiver_.OnWithdraw(WithdrawOf(1)).ok());
  EXPECT_FALSE(receiver_.NextAction().has_value());
  receiver_.OnReadCompleted(id, true);
  EXPECT_TRUE(actions_.empty());
  EXPECT_FALSE(receiver_.HasFinish());
  receiver_.OnReadCompleted(id, true);
  Next<ReleaseLanding>();
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kWithdrawn);
  ExpectFinish(1, wire::FinishReason::kWithdrawn);
}

TEST_F(RendezvousReceiverTest, AFetchWithdrawnBeforeItsVerdictFailsAtTheVerdict) {
  const uint64_t id = Offered(1, 1500);
  ASSERT_TRUE(receiver_.OnWithdraw(WithdrawOf(1)).ok());
  EXPECT_TRUE(actions_.empty());
  receiver_.OnVerdict(id, Verdict::kFetch);
  EXPECT_EQ(Next<FetchFailed>().fetch_id, id);
  EXPECT_TRUE(actions_.empty());
  ExpectFinish(1, wire::FinishReason::kWithdrawn);
}

TEST_F(RendezvousReceiverTest, ACancelledWaitForMemoryIsGivenUp) {
  const uint64_t id = Accepted(1, 1500);
  EXPECT_EQ(AskedFor(), id);
  receiver_.Cancel(7);
  Next<ReleaseLanding>();
  Next<FetchFailed>();
  receiver_.OnLanding(id);  // Too late: ignored.
  EXPECT_FALSE(receiver_.NextAction().has_value());
}

TEST_F(RendezvousReceiverTest, ACancelDuringTheCheckFailsTheFetchAfterIt) {
  const uint64_t id = Accepted(1, 100);
  NextRead();
  receiver_.OnReadCompleted(id, true);
  Next<CheckIdentity>();
  receiver_.Cancel(7);
  EXPECT_TRUE(actions_.empty());
  receiver_.OnIdentity(id, true);
  Next<ReleaseLanding>();
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kCancelled);
}

TEST_F(RendezvousReceiverTest, AFailedReadIsTold) {
  const uint64_t id = Accepted(1, 100);
  NextRead();
  EXPECT_FALSE(receiver_.OnReadCompleted(id, false));
}

TEST_F(RendezvousReceiverTest, ATransferInUseOrOutOfBoundsIsAProtocolError) {
  Offered(1, 1500);
  EXPECT_FALSE(receiver_.OnAnnounce(AnnouncementOf(1 | 5 << 16, 8, 10).view()).ok());
  EXPECT_FALSE(receiver_.OnAnnounce(AnnouncementOf(kTransfersMax, 8, 10).view()).ok());
}

TEST_F(RendezvousReceiverTest, AWithdrawalThatOurFinishCrossedIsIgnored) {
  EXPECT_TRUE(receiver_.OnWithdraw(WithdrawOf(3)).ok());
  EXPECT_FALSE(receiver_.HasFinish());
}

TEST_F(RendezvousReceiverTest, AWithdrawalOfAnotherCallIsAProtocolError) {
  Offered(1, 1500);
  EXPECT_FALSE(receiver_.OnWithdraw(WithdrawOf(1, /*call_id=*/8)).ok());
}

TEST_F(RendezvousReceiverTest, AFetchThatIsWithdrawnBeforeItsTurnIsFinishedSo) {
  Accepted(1, 1500);
  ASSERT_TRUE(receiver_.OnWithdraw(WithdrawOf(1)).ok());
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kWithdrawn);
  EXPECT_TRUE(actions_.empty());
  ExpectFinish(1, wire::FinishReason::kWithdrawn);
}

TEST_F(RendezvousReceiverTest, ACloseEndsEveryAcceptedFetchOnce) {
  Offered(1, 1500);  // No verdict yet: nothing to report.
  const uint64_t reading = AcceptedAlone(2, 5000);
  NextRead();
  const uint64_t allocating = AcceptedAlone(3, 50);
  EXPECT_EQ(AskedFor(), allocating);
  const uint64_t accepted = AcceptedAlone(4, 5000);
  receiver_.Close();
  for (const uint64_t fetch : {reading, allocating, accepted}) {
    if (fetch != accepted) {
      EXPECT_EQ(Next<ReleaseLanding>().fetch_id, fetch);
    }
    const FetchFailed failed = Next<FetchFailed>();
    EXPECT_EQ(failed.fetch_id, fetch);
    EXPECT_EQ(failed.why, FetchFailure::kConnectionEnded);
  }
  EXPECT_TRUE(actions_.empty());
  EXPECT_TRUE(receiver_.empty());
}

TEST_F(RendezvousReceiverTest, AFailureIsPutInWords) {
  const absl::Status cut = absl::UnavailableError("cable cut");
  const auto error_of = [&](FetchFailure why) { return receiver_.ErrorOf(FetchFailed{1, 100001, why}, cut); };
  EXPECT_EQ(error_of(FetchFailure::kTooLong),
            absl::ResourceExhaustedError("the message has 100001 bytes; message_bytes_max is 100000"));
  EXPECT_EQ(error_of(FetchFailure::kNoMemory).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error_of(FetchFailure::kWithdrawn).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(error_of(FetchFailure::kCancelled).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(error_of(FetchFailure::kReadFailed).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(error_of(FetchFailure::kBadIdentity).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(error_of(FetchFailure::kConnectionEnded), cut);
  EXPECT_EQ(receiver_.ErrorOf(FetchFailed{1, 0, FetchFailure::kConnectionEnded}, absl::OkStatus()).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace verbena::protocol
