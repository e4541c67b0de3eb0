// Peers that break the rules: the connection ends with a protocol error in words, and the counters stay right.

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using wire::FrameType;

class ProtocolErrorTest : public MachineFixture {
 protected:
  // The connection ends for a protocol error that says this; then everything is given back.
  void ExpectError(absl::string_view words) {
    CompleteSends();
    const absl::Status end = EndOf<Disconnect>();
    EXPECT_EQ(end.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(end.message()), testing::HasSubstr(std::string(words)));
    machine_->OnDisconnected(absl::OkStatus());
    Collect();
    EXPECT_TRUE(machine_->closed());
    EXPECT_EQ(budget_.outstanding(), 0u);
    EXPECT_EQ(budget_.posted(), kReceives);
  }
};

TEST_F(ProtocolErrorTest, FramesBeyondTheCreditsEndItAtOnce) {
  machine_->HoldMessages(true);
  for (uint32_t i = machine_->credits_granted(); i > 0; --i) {
    machine_->OnSendArrived();
    GiveFrame(FrameOf(HeaderOf(FrameType::kPong)));
  }
  machine_->OnSendArrived();
  GiveFrame(FrameOf(HeaderOf(FrameType::kPong)));
  EXPECT_EQ(FindControl(FrameType::kGoodbye), std::nullopt);
  budget_.OnReceivesReposted(static_cast<uint32_t>(budget_.consumed()));
  ExpectError("beyond the credits");
}

TEST_F(ProtocolErrorTest, GrantsBeyondTheLimitEndIt) {
  Receive(FrameType::kGrant, /*grant=*/0xffff);
  ExpectError("granted");
}

TEST_F(ProtocolErrorTest, MoreReturnedThanGrantedEndsIt) {
  wire::FrameHeader header = HeaderOf(FrameType::kReturn);
  header.aux = 1000;
  Receive(FrameOf(header));
  ExpectError("gave back 1000");
}

TEST_F(ProtocolErrorTest, AFinishOfNothingEndsIt) {
  wire::FrameHeader header = HeaderOf(FrameType::kFinish);
  header.call_id = 3;
  Receive(FrameOf(header));
  ExpectError("not announced");
}

TEST_F(ProtocolErrorTest, AFinishOfAnotherCallEndsIt) {
  SendLarge(1);
  wire::FrameHeader header = HeaderOf(FrameType::kFinish);
  header.aux = announce_.aux;
  header.call_id = 2;
  Receive(FrameOf(header));
  ExpectError("of call 2");
}

TEST_F(ProtocolErrorTest, TheSameTransferTwiceEndsIt) {
  Receive(AnnouncementOf(4, 1, 2000));
  Receive(AnnouncementOf(4, 2, 2000));
  ExpectError("in use");
}

TEST_F(ProtocolErrorTest, MoreTransfersThanThereAreEndIt) {
  Receive(AnnouncementOf(kTransfersMax, 1, 2000));
  ExpectError("transfer slot 32");
}

TEST_F(ProtocolErrorTest, AMessageAfterADrainEndsIt) {
  Receive(FrameType::kDrain);
  Receive(FrameType::kEager);
  ExpectError("after its kDrain");
}

TEST_F(ProtocolErrorTest, AMalformedFrameEndsItAndItsReceiveIsCounted) {
  machine_->OnSendArrived();
  machine_->OnMalformedFrame(absl::InvalidArgumentError("a frame of 3 bytes"), now_);
  EXPECT_EQ(budget_.consumed(), 1u);
  budget_.OnReceivesReposted(1);
  ExpectError("a frame of 3 bytes");
}

TEST_F(ProtocolErrorTest, TheReasonIsSaidInTheGoodbye) {
  Receive(FrameType::kGrant, /*grant=*/0xffff);
  const std::optional<wire::FrameHeader> goodbye = FindControl(FrameType::kGoodbye);
  ASSERT_TRUE(goodbye.has_value());
  EXPECT_EQ(goodbye->aux, static_cast<uint32_t>(wire::GoodbyeReason::kProtocolError));
}

TEST_F(ProtocolErrorTest, FramesAfterTheDecisionAreCountedAndIgnored) {
  Receive(FrameType::kGrant, /*grant=*/0xffff);
  Receive(FrameType::kEager);
  EXPECT_EQ(delivered_, 0u);
  EXPECT_EQ(budget_.posted(), kReceives);
}

TEST_F(ProtocolErrorTest, AWithdrawalThatCrossedTheFinishIsNoError) {
  wire::FrameHeader header = HeaderOf(FrameType::kWithdraw);
  header.aux = 3;
  Receive(FrameOf(header));
  EXPECT_EQ(Find<Disconnect>(), std::nullopt);
}

}  // namespace
}  // namespace verbena::protocol
