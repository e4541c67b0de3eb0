#include "transport/protocol/rendezvous_sender.h"

#include <optional>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

constexpr uint32_t kFrameBytesMax = 1024;
constexpr uint64_t kQuarantineBytesMax = 1 << 20;
constexpr uint64_t kOfferedBytes = 1 << 16;

class RendezvousSenderTest : public testing::Test {
 protected:
  explicit RendezvousSenderTest(bool revocable = false)
      : sender_({kFrameBytesMax, kQuarantineBytesMax, kOfferedBytes}, revocable, wire::kFlagChecksum, &actions_) {}
  // As Add, and what is due then.
  uint64_t Add(const SendHead& head) {
    const uint64_t id = sender_.Add(head);
    sender_.StartExports();
    return id;
  }
  // A message that is announced already.
  uint64_t Announced(uint64_t call_id, uint64_t payload_bytes = 5000) {
    const uint64_t id = Add({.call_id = call_id, .payload_bytes = payload_bytes});
    sender_.OnExported(id, std::vector<wire::Segment>{{4096, payload_bytes + wire::kIdentityBytes, 9}});
    last_announce_ = sender_.NextAnnounce().header;
    while (!actions_.empty()) actions_.Pop();
    return id;
  }
  wire::FrameHeader FinishOf(const wire::FrameHeader& announce, wire::FinishReason reason) {
    wire::FrameHeader finish;
    finish.type = wire::FrameType::kFinish;
    finish.message_kind = static_cast<uint8_t>(reason);
    finish.aux = announce.aux;
    finish.call_id = announce.call_id;
    return finish;
  }
  template <typename T>
  T Next() {
    if (actions_.empty()) sender_.StartExports();
    return std::get<T>(actions_.Pop());
  }

  ActionQueue actions_;
  RendezvousSender sender_;
  wire::FrameHeader last_announce_;
};

TEST_F(RendezvousSenderTest, AMessageIsExportedThenAnnounced) {
  const uint64_t id = Add({.message_kind = 3, .call_id = 7, .header_bytes = 100, .payload_bytes = 5000});
  const Export exported = Next<Export>();
  EXPECT_EQ(exported.send_id, id);
  EXPECT_EQ(exported.segments_max, (kFrameBytesMax - 32 - 100) / wire::kSegmentBytes);
  EXPECT_FALSE(sender_.HasAnnounce());
  sender_.OnExported(id, std::vector<wire::Segment>{{4096, 5032, 9}});
  const PostAnnounce frame = sender_.NextAnnounce();
  EXPECT_EQ(frame.send_id, id);
  EXPECT_EQ(frame.header.message_kind, 3);
  EXPECT_EQ(frame.header.payload_bytes, 5000u);
  EXPECT_EQ(frame.header.flags, wire::kFlagChecksum);
  ASSERT_EQ(frame.segments.size(), 1u);
  EXPECT_EQ(frame.segments[0].address, 4096u);
}

TEST_F(RendezvousSenderTest, AFinishedMessageIsReportedAndReleased) {
  const uint64_t id = Announced(7);
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kFetched)).ok());
  EXPECT_EQ(Next<Sent>().outcome, SendOutcome::kDelivered);
  EXPECT_EQ(Next<ReleaseExport>().send_id, id);
  EXPECT_TRUE(sender_.empty());
}

TEST_F(RendezvousSenderTest, ARefusedMessageIsReportedRefused) {
  Announced(7);
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kRefused)).ok());
  EXPECT_EQ(Next<Sent>().outcome, SendOutcome::kRefused);
}

TEST_F(RendezvousSenderTest, ACancelledAnnouncementStaysInQuarantineUntilItsFinish) {
  const uint64_t id = Announced(7);
  sender_.Cancel(id);
  EXPECT_EQ(Next<Sent>().outcome, SendOutcome::kUnknown);
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(sender_.NextWithdraw().aux, last_announce_.aux);
  EXPECT_FALSE(sender_.empty());
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kWithdrawn)).ok());
  EXPECT_EQ(Next<ReleaseExport>().send_id, id);
  EXPECT_TRUE(actions_.empty());
  EXPECT_TRUE(sender_.empty());
}

TEST_F(RendezvousSenderTest, AFinishThatCrossedTheCancelSparesTheWithdrawal) {
  sender_.Cancel(Announced(7));
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kFetched)).ok());
  EXPECT_FALSE(sender_.HasWithdraw());
}

TEST_F(RendezvousSenderTest, AMessageCancelledBeforeItsAnnouncementIsNotSent) {
  const uint64_t id = Add({.payload_bytes = 5000});
  Next<Export>();
  sender_.Cancel(id);
  EXPECT_EQ(Next<Sent>().outcome, SendOutcome::kNotSent);
  EXPECT_EQ(Next<ReleaseExport>().send_id, id);
  sender_.OnExported(id, std::vector<wire::Segment>{{4096, 5032, 9}});  // Too late: ignored.
  EXPECT_FALSE(sender_.HasAnnounce());
}

TEST_F(RendezvousSenderTest, AnExportThatFailsIsNotSentAndNotReleased) {
  sender_.OnExportFailed(Add({.payload_bytes = 5000}));
  Next<Export>();
  EXPECT_EQ(Next<Sent>().outcome, SendOutcome::kNoMemory);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(RendezvousSenderTest, MessagesBeyondTheTransfersWaitUnexported) {
  for (uint32_t i = 0; i < kTransfersMax; ++i) Announced(i);
  Add({.payload_bytes = 5000});
  EXPECT_TRUE(actions_.empty());
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kFetched)).ok());
  Next<Sent>();
  Next<ReleaseExport>();
  Next<Export>();
}

class ManyWaiting : public RendezvousSenderTest {
 protected:
  static constexpr size_t kLeftToWait = RendezvousSender::kManyWaiting + 2;
  static constexpr size_t kAllButFew = kTransfersMax - RendezvousSender::kOfferedMin;

  // All transfers are announced, and messages wait for them, of `payload_bytes` each.
  void Fill(uint64_t payload_bytes, size_t left_to_wait = kLeftToWait) {
    for (uint32_t i = 0; i < kTransfersMax; ++i) {
      ids_.push_back(Announced(i, payload_bytes));
      announced_.push_back(last_announce_);
    }
    for (size_t i = 0; i < left_to_wait; ++i) ids_.push_back(Add({.payload_bytes = payload_bytes}));
  }
  // So many of those announced first. Returns how many exports are due then.
  size_t Finish(size_t count) {
    for (; count > 0; --count) {
      EXPECT_TRUE(sender_.OnFinish(FinishOf(announced_[finished_++], wire::FinishReason::kFetched)).ok());
    }
    return Exports();
  }
  // The `index`th of all that were added; the same.
  size_t Cancel(size_t index) {
    sender_.Cancel(ids_[index]);
    return Exports();
  }
  uint64_t id(size_t index) const { return ids_[index]; }
  // All of them, in the order of adding.
  void CancelAll() {
    for (const uint64_t id : ids_) sender_.Cancel(id);
  }
  // That are due, or were.
  size_t Exports() {
    sender_.StartExports();
    size_t exports = 0;
    while (!actions_.empty()) exports += std::holds_alternative<Export>(actions_.Pop()) ? 1 : 0;
    return exports;
  }

 private:
  std::vector<uint64_t> ids_;
  std::vector<wire::FrameHeader> announced_;
  size_t finished_ = 0;
};

TEST_F(ManyWaiting, OfLongMessagesFewAreOnOffer) {
  Fill(kOfferedBytes);
  EXPECT_EQ(Finish(kAllButFew), 0u);
  EXPECT_EQ(Finish(1), 1u);
  EXPECT_EQ(Finish(1), 1u);
}

TEST_F(ManyWaiting, OfShortOnesAllAre) {
  Fill(kOfferedBytes / kTransfersMax);
  EXPECT_EQ(Finish(1), 1u);
  EXPECT_EQ(Finish(5), 5u);
}

TEST_F(ManyWaiting, AllAreOnOfferWhenFewAreLeft) {
  Fill(kOfferedBytes);
  Finish(kAllButFew);
  for (size_t left = kLeftToWait - 1; left > RendezvousSender::kFewWaiting; --left) {
    EXPECT_EQ(Cancel(kTransfersMax + left), 0u);
  }
  EXPECT_EQ(Cancel(kTransfersMax + RendezvousSender::kFewWaiting), RendezvousSender::kFewWaiting);
}

TEST_F(ManyWaiting, AllAreOnOfferUntilManyHaveWaited) {
  Fill(kOfferedBytes, RendezvousSender::kManyWaiting - 1);
  EXPECT_EQ(Finish(10), 10u);
}

TEST_F(ManyWaiting, ThatWereAllCancelledDoNotMakeLaterOnesWait) {
  Fill(kOfferedBytes);
  EXPECT_EQ(Finish(1), 0u);
  CancelAll();
  Finish(kTransfersMax - 1);
  ASSERT_TRUE(sender_.empty());
  for (int i = 0; i < 10; ++i) sender_.Add({.payload_bytes = kOfferedBytes});
  EXPECT_EQ(Exports(), 10u);
}

TEST_F(ManyWaiting, ThatBecameFewWhileNoTransferWasFreeDoNotMakeLaterOnesWait) {
  Fill(kOfferedBytes / kTransfersMax);
  EXPECT_EQ(Finish(1), 1u);
  for (size_t left = kLeftToWait; left > RendezvousSender::kFewWaiting; --left) {
    EXPECT_EQ(Cancel(kTransfersMax + left - 1), 0u);
  }
  for (int i = 0; i < 10; ++i) Add({.payload_bytes = kOfferedBytes});
  EXPECT_EQ(Finish(10), 10u);
}

TEST_F(ManyWaiting, WhatIsWithdrawnIsNotOnOffer) {
  Fill(kOfferedBytes);
  constexpr size_t kWithdrawn = 10;
  for (size_t i = 1; i <= kWithdrawn; ++i) EXPECT_EQ(Cancel(kTransfersMax - i), 0u);
  EXPECT_EQ(Finish(kAllButFew - kWithdrawn), 0u);
  EXPECT_EQ(Finish(1), 1u);
}

TEST_F(ManyWaiting, ACancelledOneMakesRoomForAnother) {
  Fill(kOfferedBytes);
  EXPECT_EQ(Finish(kAllButFew), 0u);
  EXPECT_EQ(Cancel(kTransfersMax - 1), 1u);
}

TEST_F(ManyWaiting, AnExportThatFailsMakesRoomForAnother) {
  Fill(kOfferedBytes);
  EXPECT_EQ(Finish(kAllButFew + 1), 1u);
  sender_.OnExportFailed(id(kTransfersMax));
  EXPECT_EQ(Exports(), 1u);
}

TEST_F(ManyWaiting, ThatAreAllCancelledAreNotExported) {
  Fill(kOfferedBytes);
  CancelAll();
  EXPECT_EQ(Exports(), 0u);
  EXPECT_EQ(sender_.quarantined(), kTransfersMax);
}

TEST_F(ManyWaiting, CloseExportsNothing) {
  Fill(kOfferedBytes);
  Finish(kAllButFew);
  sender_.Close();
  EXPECT_EQ(Exports(), 0u);
  EXPECT_TRUE(sender_.empty());
}

TEST_F(RendezvousSenderTest, TheQuarantineIsCountedUntilItsFinishes) {
  for (uint32_t i = 0; i < kTransfersMax; ++i) sender_.Cancel(Announced(i));
  EXPECT_EQ(sender_.quarantined(), kTransfersMax);
  EXPECT_FALSE(sender_.quarantine_full());
  ASSERT_TRUE(sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kWithdrawn)).ok());
  EXPECT_EQ(sender_.quarantined(), kTransfersMax - 1);
}

TEST_F(RendezvousSenderTest, TheQuarantineIsFullByBytes) {
  sender_.Cancel(Announced(1, kQuarantineBytesMax));
  EXPECT_FALSE(sender_.quarantine_full());
  sender_.Cancel(Announced(2, 5000));
  EXPECT_TRUE(sender_.quarantine_full());
}

TEST_F(RendezvousSenderTest, OneMessageAloneNeverFillsTheQuarantine) {
  sender_.Cancel(Announced(1, 2 * kQuarantineBytesMax));
  EXPECT_FALSE(sender_.quarantine_full());
  sender_.Cancel(Announced(2, 1));
  EXPECT_TRUE(sender_.quarantine_full());
}

class RevocableExports : public RendezvousSenderTest {
 protected:
  RevocableExports() : RendezvousSenderTest(/*revocable=*/true) {}
};

TEST_F(RevocableExports, PastItsBytesTheQuarantineGivesUpTheOldestThatThePeerWasAskedFor) {
  const uint64_t oldest = Announced(1, kQuarantineBytesMax);
  const wire::FrameHeader announce = last_announce_;
  sender_.Cancel(oldest);
  sender_.NextWithdraw();
  const uint64_t next = Announced(2, 5000);
  sender_.Cancel(next);
  EXPECT_FALSE(sender_.quarantine_full());
  EXPECT_EQ(Next<Sent>().send_id, next);
  EXPECT_EQ(Next<RevokeExport>().send_id, oldest);
  EXPECT_TRUE(sender_.OnFinish(FinishOf(announce, wire::FinishReason::kWithdrawn)).ok());
  EXPECT_TRUE(actions_.empty());  // Nothing is left to release.
  EXPECT_EQ(sender_.size(), 1u);
}

TEST_F(RevocableExports, OneThatThePeerWasNotAskedForIsNotRevoked) {
  sender_.Cancel(Announced(1, kQuarantineBytesMax));
  sender_.Cancel(Announced(2, 5000));
  EXPECT_TRUE(sender_.quarantine_full());
}

TEST_F(RevocableExports, OneMessageAloneBesideRevokedOnesDoesNotFillTheQuarantine) {
  sender_.Cancel(Announced(1, 5000));
  sender_.NextWithdraw();
  sender_.Cancel(Announced(2, 2 * kQuarantineBytesMax));
  EXPECT_FALSE(sender_.quarantine_full());
}

TEST_F(RevocableExports, OneThatIsRevokedCountsUntilItsFinish) {
  sender_.Cancel(Announced(1, kQuarantineBytesMax));
  const wire::FrameHeader announce = last_announce_;
  sender_.NextWithdraw();
  sender_.Cancel(Announced(2, 5000));
  Next<Sent>();
  EXPECT_EQ(sender_.quarantined(), 2u);
  ASSERT_TRUE(sender_.OnFinish(FinishOf(announce, wire::FinishReason::kWithdrawn)).ok());
  EXPECT_EQ(sender_.quarantined(), 1u);
}

TEST_F(RevocableExports, ACloseReleasesWhatIsNotRevoked) {
  sender_.Cancel(Announced(1, kQuarantineBytesMax));
  sender_.NextWithdraw();
  const uint64_t next = Announced(2, 5000);
  sender_.Cancel(next);
  while (!actions_.empty()) actions_.Pop();
  sender_.Close();
  EXPECT_EQ(Next<ReleaseExport>().send_id, next);
  EXPECT_TRUE(actions_.empty());
  EXPECT_TRUE(sender_.empty());
}

TEST_F(RendezvousSenderTest, AFinishOfAnUnknownTransferIsAProtocolError) {
  Announced(7);
  wire::FrameHeader finish = FinishOf(last_announce_, wire::FinishReason::kFetched);
  finish.aux += 1;  // A slot that is free.
  EXPECT_EQ(sender_.OnFinish(finish).code(), absl::StatusCode::kInvalidArgument);
  finish.aux = 0xffff;  // No slot at all.
  EXPECT_EQ(sender_.OnFinish(finish).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RendezvousSenderTest, ASecondFinishIsAProtocolError) {
  Announced(7);
  const wire::FrameHeader finish = FinishOf(last_announce_, wire::FinishReason::kFetched);
  EXPECT_TRUE(sender_.OnFinish(finish).ok());
  EXPECT_FALSE(sender_.OnFinish(finish).ok());
  Announced(8);  // The slot's next use is another transfer.
  EXPECT_FALSE(sender_.OnFinish(finish).ok());
}

TEST_F(RendezvousSenderTest, AFinishOfAnotherCallIsAProtocolError) {
  Announced(7);
  wire::FrameHeader finish = FinishOf(last_announce_, wire::FinishReason::kFetched);
  finish.call_id = 8;
  EXPECT_FALSE(sender_.OnFinish(finish).ok());
}

TEST_F(RendezvousSenderTest, AFinishBeforeTheAnnouncementIsAProtocolError) {
  Announced(7);
  sender_.OnFinish(FinishOf(last_announce_, wire::FinishReason::kFetched)).IgnoreError();
  const uint64_t id = Add({.call_id = 7, .payload_bytes = 5000});
  sender_.OnExported(id, std::vector<wire::Segment>{{4096, 5032, 9}});
  wire::FrameHeader guess = FinishOf(last_announce_, wire::FinishReason::kFetched);
  guess.aux += uint32_t{1} << 16;  // The slot's next use.
  EXPECT_FALSE(sender_.OnFinish(guess).ok());
}

TEST_F(RendezvousSenderTest, ACloseReportsAndReleasesEverything) {
  sender_.Cancel(Announced(1));
  Announced(2);
  Add({.payload_bytes = 5000});
  while (!actions_.empty()) actions_.Pop();
  sender_.Close();
  int unknown = 0, not_sent = 0, released = 0;
  while (!actions_.empty()) {
    const Action action = actions_.Pop();
    if (const Sent* sent = std::get_if<Sent>(&action)) {
      (sent->outcome == SendOutcome::kUnknown ? unknown : not_sent) += 1;
    }
    released += std::holds_alternative<ReleaseExport>(action) ? 1 : 0;
  }
  EXPECT_EQ(unknown, 1);
  EXPECT_EQ(not_sent, 1);
  EXPECT_EQ(released, 3);
  EXPECT_TRUE(sender_.empty());
}

}  // namespace
}  // namespace verbena::protocol
