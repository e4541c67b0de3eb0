// Large messages that are fetched in parts.

#include "gtest/gtest.h"
#include "transport/protocol/rendezvous_receiver_fixture.h"

namespace verbena::protocol {
namespace {

TEST_F(RendezvousReceiverTest, OfAFetchInPartsItIsToldWhatHasLandedUntilAllHas) {
  const uint64_t id = Offered(1, 2500);
  receiver_.OnVerdict(id, Verdict::kFetchInParts);
  for (const uint64_t landed : {kChunk, 2 * kChunk}) {
    NextRead();
    receiver_.OnReadCompleted(id, true);
    const Landed part = Next<Landed>();
    EXPECT_EQ(part.fetch_id, id);
    EXPECT_EQ(part.bytes, landed);
    EXPECT_EQ(part.expected.epoch, kEpoch);
    EXPECT_EQ(part.expected.call_id, 7u);
    EXPECT_EQ(part.expected.payload_bytes, 2500u);
  }
  NextRead();
  receiver_.OnReadCompleted(id, true);
  Next<CheckIdentity>();
  receiver_.OnIdentity(id, true);
  Next<Deliver>();
}

TEST_F(RendezvousReceiverTest, OfAFetchInPartsNothingIsToldBeforeItsIdentityIsThere) {
  const wire::FrameHeader announcement = AnnouncementOf(1, 7, 1500).view().header;
  constexpr uint64_t kBefore = wire::kIdentityBytes;
  const FrameOf frame(announcement, {{0x10000, kBefore - 1, 9}, {0x20000, 1, 9}, {0x30000, 1500, 9}});
  ASSERT_TRUE(receiver_.OnAnnounce(frame.view()).ok());
  const uint64_t id = Next<AskVerdict>().fetch_id;
  receiver_.OnVerdict(id, Verdict::kFetchInParts);
  for (const uint64_t landed : {kBefore - 1, kBefore, kBefore + kChunk}) {
    NextRead();
    receiver_.OnReadCompleted(id, true);
    EXPECT_EQ(actions_.empty(), landed <= kBefore) << landed;
  }
  EXPECT_EQ(Next<Landed>().bytes, kBefore + kChunk);
}

TEST_F(RendezvousReceiverTest, OfAFetchInPartsThatEndsEarlyNothingMoreIsTold) {
  const uint64_t id = Offered(1, 5000);
  receiver_.OnVerdict(id, Verdict::kFetchInParts);
  NextRead();
  receiver_.OnReadCompleted(id, true);
  Next<Landed>();
  NextRead();
  NextRead();
  receiver_.Cancel(7);
  receiver_.OnReadCompleted(id, true);
  EXPECT_TRUE(actions_.empty());
  receiver_.OnReadCompleted(id, true);
  Next<ReleaseLanding>();
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kCancelled);
  ExpectFinish(1, wire::FinishReason::kFetched);  // Who has seen parts may have done what the message is about.
}

TEST_F(RendezvousReceiverTest, AFetchInPartsThatIsFoundDamagedIsFinishedAsFetched) {
  const uint64_t id = Offered(1, 1500);
  receiver_.OnVerdict(id, Verdict::kFetchInParts);
  for (int i = 0; i < 2; ++i) {
    NextRead();
    receiver_.OnReadCompleted(id, true);
  }
  Next<Landed>();
  Next<CheckIdentity>();
  receiver_.OnIdentity(id, false);
  Next<ReleaseLanding>();
  EXPECT_EQ(Next<FetchFailed>().why, FetchFailure::kBadIdentity);
  ExpectFinish(1, wire::FinishReason::kFetched);
}

TEST_F(RendezvousReceiverTest, AFetchInPartsThatIsCancelledBeforeAnyIsToldIsRefused) {
  const uint64_t id = Offered(1, 5000);
  receiver_.OnVerdict(id, Verdict::kFetchInParts);
  NextRead();
  receiver_.Cancel(7);
  receiver_.OnReadCompleted(id, true);
  ExpectFinish(1, wire::FinishReason::kRefused);
}

}  // namespace
}  // namespace verbena::protocol
