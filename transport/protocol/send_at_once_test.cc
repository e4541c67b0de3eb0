// What a connection machine lets leave within the call that sends it.

#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using wire::FrameType;

class SendAtOnceTest : public MachineFixture {
 protected:
  static constexpr SendHead kSmall{.message_kind = 3, .call_id = 7, .header_bytes = 8, .payload_bytes = 64};

  std::optional<PostEager> Try(const SendHead& head = kSmall, size_t room = 0) {
    PostEager frame{SendSlots::kNoSend, machine_->JoinAtOnce(head, room), head.EagerHeader()};
    if (frame.joins) return frame;
    const std::optional<uint16_t> grant = machine_->PostAtOnce(head);
    if (!grant.has_value()) return std::nullopt;
    frame.header.credit_grant = *grant;
    return frame;
  }
  // Nothing leaves at once, and nothing has happened: what is sent now is reported.
  void ExpectToWait(const SendHead& head = kSmall) {
    const uint32_t credits = machine_->credits_held();
    const size_t in_flight = machine_->sends_in_flight();
    EXPECT_FALSE(Try(head).has_value());
    EXPECT_EQ(machine_->credits_held(), credits);
    EXPECT_EQ(machine_->sends_in_flight(), in_flight);
  }
};

TEST_F(SendAtOnceTest, AMessageThatNothingKeepsTakesACreditAndASlotAndIsNotReported) {
  const uint32_t credits = machine_->credits_held();
  const std::optional<PostEager> frame = Try();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->send_id, 0u);
  EXPECT_FALSE(frame->joins);
  EXPECT_EQ(frame->header.type, FrameType::kEager);
  EXPECT_EQ(frame->header.message_kind, 3);
  EXPECT_EQ(frame->header.call_id, 7u);
  EXPECT_EQ(frame->header.call_header_bytes, 8);
  EXPECT_EQ(frame->header.payload_bytes, 64u);
  EXPECT_EQ(machine_->credits_held(), credits - 1);
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
  CompleteSends();
  EXPECT_EQ(machine_->sends_in_flight(), 0u);
  EXPECT_FALSE(Find<Sent>().has_value());
  EXPECT_TRUE(machine_->idle());
}

TEST_F(SendAtOnceTest, ItsFrameCarriesTheGrantThatIsDue) {
  Receive(FrameType::kEager);  // It took a receive that may be granted again.
  const uint32_t granted = machine_->credits_granted();
  const std::optional<PostEager> frame = Try();
  ASSERT_TRUE(frame.has_value());
  EXPECT_GT(frame->header.credit_grant, 0);
  EXPECT_EQ(machine_->credits_granted(), granted + frame->header.credit_grant);
}

TEST_F(SendAtOnceTest, WithRoomInFrontItJoinsThereAndTakesNeitherCreditNorSlotNorBuffer) {
  ASSERT_TRUE(Try().has_value());
  const uint32_t credits = machine_->credits_held();
  machine_->HoldMessages(true);
  const std::optional<PostEager> frame = Try(kSmall, kSmall.eager_frame_bytes());
  ASSERT_TRUE(frame.has_value());
  EXPECT_TRUE(frame->joins);
  EXPECT_EQ(frame->header.credit_grant, 0);
  EXPECT_EQ(machine_->credits_held(), credits);
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
}

TEST_F(SendAtOnceTest, ItOvertakesNoMessageThatWaits) {
  SendEager();
  ExpectToWait();
  Collect();
  EXPECT_TRUE(Try().has_value());
}

TEST_F(SendAtOnceTest, ItOvertakesNoControlFrame) {
  machine_->OnSendArrived();
  GiveFrame(FrameOf(HeaderOf(FrameType::kPing)));
  ExpectToWait();
  Collect();
  EXPECT_TRUE(Try().has_value());
}

TEST_F(SendAtOnceTest, ItOvertakesNoAnnouncementAndNoFinish) {
  const uint64_t large = machine_->Send({.call_id = 1, .payload_bytes = 5000});
  Collect();  // Its Export.
  machine_->OnExported(large, std::vector<wire::Segment>{{4096, 5032, 9}});
  ExpectToWait();
  Collect();
  EXPECT_TRUE(Try().has_value());
  Receive(AnnouncementOf(0, 1, 100));
  machine_->OnVerdict(Find<AskVerdict>()->fetch_id, Verdict::kRefuse);
  ExpectToWait();
  Collect();
  EXPECT_TRUE(Try().has_value());
}

TEST_F(SendAtOnceTest, TheAcceptorsLastCreditIsForAFrameThatGrants) {
  initiator_ = false;
  Restart(/*peer_credits=*/1);
  ExpectToWait();  // The peer has all that it may have.
  machine_->OnSendArrived();
  GiveFrame(FrameOf(HeaderOf(FrameType::kEager)));
  budget_.OnReceivesReposted(static_cast<uint32_t>(budget_.consumed()));
  const std::optional<PostEager> frame = Try();
  ASSERT_TRUE(frame.has_value());
  EXPECT_GT(frame->header.credit_grant, 0);
}

TEST_F(SendAtOnceTest, AfterAMessageThatAsksForNothingTheMachineIsQuiet) {
  Receive(FrameType::kEager);
  EXPECT_TRUE(machine_->quiet());
  machine_->OnSendArrived();
  GiveFrame(FrameOf(HeaderOf(FrameType::kPing)));
  EXPECT_FALSE(machine_->quiet());
  Collect();
  EXPECT_TRUE(machine_->quiet());
  machine_->Abort(absl::CancelledError("over"), now_);
  EXPECT_FALSE(machine_->quiet());
}

TEST_F(SendAtOnceTest, WithoutCreditOrSlotItWaits) {
  while (Try().has_value()) {
  }
  EXPECT_EQ(machine_->sends_in_flight(), config_.send_slots - kControlSendSlots);
  ExpectToWait();
  Restart(/*peer_credits=*/1);
  ASSERT_TRUE(Try().has_value());
  ExpectToWait();
}

TEST_F(SendAtOnceTest, WithoutASendBufferItWaits) {
  machine_->HoldMessages(true);
  ExpectToWait();
}

TEST_F(SendAtOnceTest, ALargeMessageIsAnnouncedInstead) {
  ExpectToWait({.payload_bytes = kBufferBytes - wire::kFrameHeaderBytes + 1});
  ExpectToWait({.payload_bytes = ~uint64_t{0}});
  EXPECT_TRUE(Try({.payload_bytes = kBufferBytes - wire::kFrameHeaderBytes}).has_value());
}

TEST_F(SendAtOnceTest, WhereMessagesAreNotSentAnyMoreNoneLeaves) {
  machine_->Drain(now_);
  ExpectToWait();
  Restart(/*peer_credits=*/16);
  machine_->Abort(absl::CancelledError("over"), now_);
  ExpectToWait();
}

}  // namespace
}  // namespace verbena::protocol
