// Which announcements and finishes a connection machine lets share a SEND.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using ::testing::ElementsAre;
using wire::FrameType;

class PackedRendezvousTest : public MachineFixture {
 protected:
  static constexpr size_t kPlenty = 1000;
  // Of an announcement in one segment, without a call header.
  static constexpr size_t kAnnounceBytes = wire::kFrameHeaderBytes + wire::kSegmentBytes;

  PackedRendezvousTest() { RestartWith(wire::kFeaturePacking | wire::kFeatureRendezvousPacking); }

  void RestartWith(uint32_t features) {
    features_ = features;
    Restart(/*peer_credits=*/8);
  }
  // The peer has announced a message, which is refused: a finish is due.
  void RefuseOne(uint32_t transfer) {
    Give(AnnouncementOf(transfer, /*call_id=*/100 + transfer, /*payload_bytes=*/5000));
    const std::optional<Action> asked = machine_->NextAction();
    ASSERT_TRUE(asked.has_value());
    machine_->OnVerdict(std::get<AskVerdict>(*asked).fetch_id, Verdict::kRefuse);
  }
  void Give(const FrameOf& frame) {
    machine_->OnSendArrived();
    GiveFrame(frame);
    budget_.OnReceivesReposted(static_cast<uint32_t>(budget_.consumed()));
  }
  // A large message that is exported: its announcement is due.
  void ExportOne(uint64_t call_id) {
    const uint64_t id = machine_->Send({.call_id = call_id, .payload_bytes = 5000});
    const std::optional<Action> action = machine_->NextAction();
    ASSERT_TRUE(action.has_value() && std::holds_alternative<Export>(*action));
    machine_->OnExported(id, std::vector<wire::Segment>{{4096, 5032, 9}});
  }
  // The frames that come out while each leaves `room` behind it, in words.
  std::vector<std::string> Frames(size_t room) {
    std::vector<std::string> frames;
    while (std::optional<Action> action = machine_->NextAction(frames.empty() ? 0 : room)) {
      if (const auto* eager = std::get_if<PostEager>(&*action)) frames.push_back(Word(*eager));
      if (const auto* announce = std::get_if<PostAnnounce>(&*action)) frames.push_back(Word(*announce));
      if (const auto* control = std::get_if<PostControl>(&*action)) {
        frames.push_back(Word(*control) + (control->leads ? ", leads" : ""));
      }
    }
    return frames;
  }
  template <typename Frame>
  static std::string Word(const Frame& frame) {
    EXPECT_TRUE(!frame.joins || frame.header.credit_grant == 0);
    return std::string(wire::ToString(frame.header.type)) + (frame.joins ? " joins" : "");
  }
};

TEST_F(PackedRendezvousTest, AFinishLeadsTheAnnouncementThatFollows) {
  RefuseOne(0);
  ExportOne(1);
  const uint32_t credits = machine_->credits_held();
  EXPECT_THAT(Frames(kPlenty), ElementsAre("finish, leads", "announce joins"));
  EXPECT_EQ(machine_->credits_held(), credits - 1);
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
}

TEST_F(PackedRendezvousTest, AFinishAloneLeadsNothing) {
  RefuseOne(0);
  EXPECT_THAT(Frames(kPlenty), ElementsAre("finish"));
}

TEST_F(PackedRendezvousTest, AllThatIsDueSharesASend) {
  for (const uint32_t transfer : {0, 1, 2}) RefuseOne(transfer);
  ExportOne(1);
  ExportOne(2);
  SendEager(3);
  // Announcements and eager messages take turns.
  EXPECT_THAT(Frames(kPlenty), ElementsAre("finish, leads", "finish joins", "finish joins", "eager joins",
                                           "announce joins", "announce joins"));
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
}

TEST_F(PackedRendezvousTest, AFinishJoinsAnAnnouncement) {
  ExportOne(1);
  const std::optional<Action> first = machine_->NextAction();
  ASSERT_TRUE(first.has_value() && std::holds_alternative<PostAnnounce>(*first));
  EXPECT_FALSE(std::get<PostAnnounce>(*first).joins);
  RefuseOne(0);
  const std::optional<Action> second = machine_->NextAction(wire::kFrameHeaderBytes);
  ASSERT_TRUE(second.has_value() && std::holds_alternative<PostControl>(*second));
  EXPECT_TRUE(std::get<PostControl>(*second).joins);
}

TEST_F(PackedRendezvousTest, WhatFindsNoRoomHasASendOfItsOwn) {
  RefuseOne(0);
  RefuseOne(1);
  EXPECT_THAT(Frames(wire::kFrameHeaderBytes - 1), ElementsAre("finish, leads", "finish"));
  ExportOne(1);
  ExportOne(2);
  EXPECT_THAT(Frames(kAnnounceBytes - 1), ElementsAre("announce", "announce"));
  ExportOne(3);
  ExportOne(4);
  EXPECT_THAT(Frames(kAnnounceBytes), ElementsAre("announce", "announce joins"));
}

TEST_F(PackedRendezvousTest, ASendHasNoMoreThanTheMostFrames) {
  initial_grants_ = 2 * wire::kFramesPerSendMax;
  Restart(/*peer_credits=*/8);
  for (uint32_t i = 0; i < wire::kFramesPerSendMax + 1; ++i) RefuseOne(i);
  EXPECT_EQ(Frames(kPlenty).back(), "finish");
  EXPECT_EQ(machine_->sends_in_flight(), 2u);
}

TEST_F(PackedRendezvousTest, WhereItWasNotChosenEachHasASendOfItsOwn) {
  for (const uint32_t features : {0u, wire::kFeaturePacking, wire::kFeatureRendezvousPacking}) {
    RestartWith(features);
    RefuseOne(0);
    RefuseOne(1);
    ExportOne(1);
    EXPECT_THAT(Frames(kPlenty), ElementsAre("finish", "finish", "announce")) << features;
  }
}

// It was given out, and its SEND has a place for others: a buffer is not needed, nor a credit.
TEST_F(PackedRendezvousTest, AnAnnouncementThatJoinsNeedsNeitherCreditNorBuffer) {
  RestartWithoutCredits();
  machine_->HoldMessages(true);
  ExportOne(1);
  EXPECT_EQ(machine_->NextAction(), std::nullopt);
  const std::optional<Action> action = machine_->NextAction(kAnnounceBytes);
  ASSERT_TRUE(action.has_value());
  EXPECT_TRUE(std::get<PostAnnounce>(*action).joins);
}

}  // namespace
}  // namespace verbena::protocol
