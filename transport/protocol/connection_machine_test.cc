// What a connection does between peers that keep the rules. Those that break them: protocol_error_test.cc.

#include "transport/protocol/connection_machine.h"

#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using wire::FrameType;

class ConnectionMachineTest : public MachineFixture {
 protected:
  void ReceiveGoodbye(wire::GoodbyeReason reason, absl::string_view words = "") {
    wire::FrameHeader header = HeaderOf(FrameType::kGoodbye);
    header.aux = static_cast<uint32_t>(reason);
    header.call_header_bytes = static_cast<uint16_t>(words.size());
    Receive(FrameOf(header, {}, words));
  }
};

TEST_F(ConnectionMachineTest, AMessageThatFillsTheReceiveBufferIsEager) {
  machine_->Send({.header_bytes = 10, .payload_bytes = kBufferBytes - wire::kFrameHeaderBytes - 10});
  EXPECT_TRUE(Find<PostEager>().has_value());
}

TEST_F(ConnectionMachineTest, OneByteMoreIsARendezvous) {
  machine_->Send({.header_bytes = 10, .payload_bytes = kBufferBytes - wire::kFrameHeaderBytes - 10 + 1});
  EXPECT_TRUE(Find<Export>().has_value());
}

TEST_F(ConnectionMachineTest, AFrameNeedsACreditAndASlot) {
  Restart(/*peer_credits=*/2);
  for (int i = 0; i < 3; ++i) SendEager();
  Collect();
  EXPECT_EQ(machine_->sends_in_flight(), 2u);  // No credit for the third.
  machine_->OnSendCompleted(2, now_);
  Collect();
  EXPECT_EQ(machine_->sends_in_flight(), 0u);  // A completion is no credit.
  Receive(FrameType::kGrant, /*grant=*/20);
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
  for (int i = 0; i < 20; ++i) SendEager();
  Collect();
  EXPECT_EQ(machine_->sends_in_flight(), config_.send_slots - kControlSendSlots);  // A credit is no slot.
}

TEST_F(ConnectionMachineTest, ControlFramesPassAFullQueueOfMessages) {
  for (int i = 0; i < 20; ++i) SendEager();
  Collect();
  Receive(FrameType::kPing);
  EXPECT_TRUE(FindControl(FrameType::kPong).has_value());
}

TEST_F(ConnectionMachineTest, ACompletedEagerSendIsDelivered) {
  const uint64_t id = SendEager();
  CompleteSends();
  const std::optional<Sent> sent = Find<Sent>();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->send_id, id);
  EXPECT_EQ(sent->outcome, SendOutcome::kDelivered);
}

TEST_F(ConnectionMachineTest, SendsAreAwaitedOnceSlotsRunOut) {
  for (uint32_t i = 0; i < (config_.send_slots - kControlSendSlots) / 2; ++i) SendEager();
  Collect();
  EXPECT_FALSE(machine_->awaits_sends());
  SendEager();
  Collect();
  EXPECT_TRUE(machine_->awaits_sends());
  CompleteSends();
  EXPECT_FALSE(machine_->awaits_sends());
}

TEST_F(ConnectionMachineTest, SendsAreAwaitedWhereTheConnectionEnds) {
  machine_->Drain(now_);
  EXPECT_TRUE(machine_->awaits_sends());
  Restart(/*peer_credits=*/16);
  EXPECT_FALSE(machine_->awaits_sends());
  machine_->Abort(absl::CancelledError("enough"), now_);
  EXPECT_TRUE(machine_->awaits_sends());
}

TEST_F(ConnectionMachineTest, WhileHeldNoMessageIsPosted) {
  machine_->HoldMessages(true);
  SendEager();
  Collect();
  EXPECT_EQ(machine_->sends_in_flight(), 0u);
  machine_->HoldMessages(false);
  EXPECT_TRUE(Find<PostEager>().has_value());
}

// 64 bytes of payload behind the header's.
constexpr size_t kEagerFrameBytes = wire::kFrameHeaderBytes + 64;

TEST_F(ConnectionMachineTest, MessagesJoinTheOneInFrontWhileThereIsRoom) {
  const uint64_t ids[] = {SendEager(1), SendEager(2), SendEager(3)};
  const uint32_t credits = machine_->credits_held();
  const auto next = [this](size_t room) { return std::get<PostEager>(*machine_->NextAction(room)); };
  const PostEager first = next(/*room=*/0);
  EXPECT_FALSE(first.joins);
  const PostEager second = next(/*room=*/kEagerFrameBytes);
  EXPECT_TRUE(second.joins);
  EXPECT_EQ(second.header.credit_grant, 0);
  EXPECT_EQ(machine_->sends_in_flight(), 1u);
  EXPECT_EQ(machine_->credits_held(), credits - 1);
  EXPECT_FALSE(next(/*room=*/kEagerFrameBytes - 1).joins);
  EXPECT_EQ(machine_->sends_in_flight(), 2u);

  machine_->OnSendCompleted(1, now_);  // Of the first two.
  EXPECT_EQ(Find<Sent>()->send_id, ids[0]);
  EXPECT_EQ(Find<Sent>()->send_id, ids[1]);
  EXPECT_EQ(Find<Sent>(), std::nullopt);
}

TEST_F(ConnectionMachineTest, AMessageThatJoinsNeedsNeitherCreditNorSlotNorBuffer) {
  RestartWithoutCredits();
  machine_->HoldMessages(true);
  SendEager();
  EXPECT_EQ(machine_->NextAction(), std::nullopt);
  const std::optional<Action> action = machine_->NextAction(/*room=*/kEagerFrameBytes);
  ASSERT_TRUE(action.has_value());
  EXPECT_TRUE(std::get<PostEager>(*action).joins);
}

TEST_F(ConnectionMachineTest, TheFramesOfOneSendTakeOneReceive) {
  const uint32_t granted = machine_->credits_granted();
  wire::FrameHeader header = HeaderOf(FrameType::kEager);
  header.payload_bytes = 8;
  const FrameOf frame(header);
  machine_->OnSendArrived();
  GiveFrame(frame);
  GiveFrame(frame);
  EXPECT_EQ(machine_->credits_granted(), granted - 1);
  EXPECT_EQ(delivered_, 2u);
}

TEST_F(ConnectionMachineTest, WhatCameInFrontOfAMalformedFrameIsDelivered) {
  machine_->OnSendArrived();
  GiveFrame(FrameOf(HeaderOf(FrameType::kEager)));
  machine_->OnMalformedFrame(absl::InvalidArgumentError("rubbish behind it"), now_);
  EXPECT_EQ(delivered_, 1u);
  EXPECT_TRUE(FindControl(FrameType::kGoodbye).has_value());
  CompleteSends();
  EXPECT_EQ(EndOf<Disconnect>().message(), "rubbish behind it");
}

TEST_F(ConnectionMachineTest, ADrainWaitsForTheQueuedMessagesAndThePeer) {
  const uint64_t id = SendLarge();
  machine_->Drain(now_);
  EXPECT_TRUE(FindControl(FrameType::kDrain).has_value());
  Receive(FrameType::kDrain);
  CompleteSends();
  EXPECT_EQ(FindControl(FrameType::kGoodbye), std::nullopt);  // The announcement is unfinished.
  wire::FrameHeader finish = HeaderOf(FrameType::kFinish);
  finish.aux = announce_.aux;
  finish.call_id = announce_.call_id;
  Receive(FrameOf(finish));
  EXPECT_EQ(Find<ReleaseExport>()->send_id, id);
  EXPECT_TRUE(FindControl(FrameType::kGoodbye).has_value());
  CompleteSends();
  EXPECT_TRUE(EndOf<Disconnect>().ok());
}

TEST_F(ConnectionMachineTest, AfterADrainSendsAreNotSent) {
  machine_->Drain(now_);
  SendEager();
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kNotSent);
}

TEST_F(ConnectionMachineTest, ThePeersDrainIsToldAndAnswered) {
  Receive(FrameType::kDrain);
  EXPECT_TRUE(Find<PeerDraining>().has_value());
  EXPECT_TRUE(FindControl(FrameType::kDrain).has_value());
}

TEST_F(ConnectionMachineTest, AGoodbyeAfterBothDrainsIsAGoodEnd) {
  const uint64_t id = SendEager();
  Receive(FrameType::kDrain);
  ReceiveGoodbye(wire::GoodbyeReason::kClosed);  // Before our own completions.
  const std::optional<Sent> sent = Find<Sent>();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->send_id, id);
  EXPECT_EQ(sent->outcome, SendOutcome::kDelivered);
  EXPECT_TRUE(EndOf<Disconnect>().ok());
}

TEST_F(ConnectionMachineTest, AGoodbyeOutOfTheBlueIsUnavailable) {
  SendEager();
  Collect();
  ReceiveGoodbye(wire::GoodbyeReason::kShutdown);
  EXPECT_EQ(EndOf<Disconnect>().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionMachineTest, ThePeersWordsAreRepeatedInTheStatusFitForALog) {
  ReceiveGoodbye(wire::GoodbyeReason::kShutdown, "gone\n\x1b[31mfishing");
  EXPECT_EQ(EndOf<Disconnect>().message(), "the peer closed the connection: shutting down: gone??[31mfishing");
}

TEST_F(ConnectionMachineTest, ThePeersWordsAreCut) {
  ReceiveGoodbye(wire::GoodbyeReason::kShutdown, std::string(900, 'a'));
  EXPECT_LT(EndOf<Disconnect>().message().size(), kGoodbyeWordsBytesMax + 100);
}

TEST_F(ConnectionMachineTest, AGoodbyeSaysWhyInWords) {
  machine_->Abort(absl::CancelledError(std::string("enough ") + std::string(900, 'a')), now_);
  const std::optional<PostControl> goodbye = Find<PostControl>();
  ASSERT_TRUE(goodbye.has_value());
  EXPECT_EQ(goodbye->header.type, FrameType::kGoodbye);
  EXPECT_EQ(goodbye->words.substr(0, 7), "enough ");
  EXPECT_EQ(goodbye->words.size(), kGoodbyeWordsBytesMax);
}

TEST_F(ConnectionMachineTest, ADrainThatTakesTooLongEndsTheConnection) {
  SendLarge();
  machine_->Drain(now_);
  now_ += config_.drain_timeout;
  machine_->OnDeadline(now_);
  EXPECT_TRUE(FindControl(FrameType::kGoodbye).has_value());
  CompleteSends();
  EXPECT_EQ(EndOf<Disconnect>().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ConnectionMachineTest, ASilentPeerIsProbedThenGivenUp) {
  now_ = machine_->NextDeadline();
  machine_->OnDeadline(now_);
  EXPECT_TRUE(FindControl(FrameType::kPing).has_value());
  now_ = machine_->NextDeadline();
  machine_->OnDeadline(now_);
  EXPECT_EQ(EndOf<Disconnect>().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionMachineTest, AnAbortSaysGoodbyeThenDisconnects) {
  machine_->Abort(absl::CancelledError("enough"), now_);
  EXPECT_TRUE(FindControl(FrameType::kGoodbye).has_value());
  EXPECT_EQ(Find<Disconnect>(), std::nullopt);
  CompleteSends();
  EXPECT_EQ(EndOf<Disconnect>(), absl::CancelledError("enough"));
}

TEST_F(ConnectionMachineTest, AGoodbyeThatCannotLeaveIsGivenUp) {
  Restart(/*peer_credits=*/0);
  machine_->Abort(absl::CancelledError("enough"), now_);
  Collect();
  EXPECT_EQ(Find<Disconnect>(), std::nullopt);
  now_ = machine_->NextDeadline();
  machine_->OnDeadline(now_);
  EXPECT_TRUE(Find<Disconnect>().has_value());
}

class CrowdedQuarantineTest : public ConnectionMachineTest {
 protected:
  // One more than may stay for ever.
  CrowdedQuarantineTest() {
    keepalive_ms_ = 0;  // Nothing else has a deadline.
    Restart(/*peer_credits=*/16);
    EXPECT_EQ(machine_->NextDeadline(), absl::InfiniteFuture());
    for (uint32_t i = 0; i <= kQuarantineExportsMax; ++i) {
      machine_->CancelSend(SendLarge(i), now_);
      CompleteSends();
      Receive(FrameType::kGrant, /*grant=*/4);
    }
  }
  // The clock moves on. Whether the connection ends then.
  bool EndsAfter(absl::Duration time) {
    now_ += time;
    machine_->OnDeadline(now_);
    const std::optional<wire::FrameHeader> goodbye = FindControl(FrameType::kGoodbye);
    return goodbye.has_value() && goodbye->aux == static_cast<uint32_t>(wire::GoodbyeReason::kQuarantineFull);
  }
};

TEST_F(CrowdedQuarantineTest, ForcesTheConnectionDownInTime) {
  EXPECT_EQ(machine_->NextDeadline(), now_ + config_.quarantine_timeout);
  EXPECT_FALSE(EndsAfter(config_.quarantine_timeout - absl::Milliseconds(1)));
  EXPECT_TRUE(EndsAfter(absl::Milliseconds(1)));
}

TEST_F(CrowdedQuarantineTest, OfAPeerThatFinishesDoesNot) {
  EXPECT_FALSE(EndsAfter(config_.quarantine_timeout - absl::Milliseconds(1)));
  wire::FrameHeader finish = HeaderOf(FrameType::kFinish);
  finish.aux = announce_.aux;
  finish.call_id = announce_.call_id;
  Receive(FrameOf(finish));
  EXPECT_EQ(machine_->NextDeadline(), absl::InfiniteFuture());
  EXPECT_FALSE(EndsAfter(config_.quarantine_timeout));
}

TEST_F(ConnectionMachineTest, NoneOfManyThatAreCancelledTogetherIsExported) {
  std::vector<uint64_t> ids;
  for (uint32_t i = 0; i < 100; ++i) ids.push_back(machine_->Send({.payload_bytes = 5000}));
  while (Find<Export>().has_value()) ids.push_back(machine_->Send({.payload_bytes = 5000}));
  for (const uint64_t id : ids) machine_->CancelSend(id, now_);
  EXPECT_FALSE(Find<Export>().has_value());
}

TEST_F(ConnectionMachineTest, AQuarantineOfTooManyBytesForcesTheConnectionDownAtOnce) {
  quarantine_bytes_max_ = 6000;  // One message's, not two.
  Restart(/*peer_credits=*/16);
  for (uint32_t i = 0; i < 2; ++i) {
    machine_->CancelSend(SendLarge(i), now_);
    CompleteSends();
  }
  const std::optional<wire::FrameHeader> goodbye = FindControl(FrameType::kGoodbye);
  ASSERT_TRUE(goodbye.has_value());
  EXPECT_EQ(goodbye->aux, static_cast<uint32_t>(wire::GoodbyeReason::kQuarantineFull));
}

TEST_F(ConnectionMachineTest, AClosedConnectionHasReportedEverythingOnce) {
  SendEager(1);
  SendLarge(2);
  machine_->OnDisconnected(absl::UnavailableError("cable cut"));
  Collect();
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kUnknown);
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kUnknown);
  EXPECT_TRUE(Find<ReleaseExport>().has_value());
  ASSERT_TRUE(std::holds_alternative<Closed>(actions_.back()));
  EXPECT_EQ(machine_->end_status(), absl::UnavailableError("cable cut"));
  EXPECT_EQ(budget_.outstanding(), 0u);
}

TEST_F(ConnectionMachineTest, AnIdleConnectionGivesCreditsBackWhenAsked) {
  Receive(FrameType::kReclaim);
  const std::optional<wire::FrameHeader> given = FindControl(FrameType::kReturn);
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->aux, 16 - kCreditsPerConnectionMin - 1);
  EXPECT_EQ(machine_->credits_held(), kCreditsPerConnectionMin);
}

TEST_F(ConnectionMachineTest, CreditsThatWereWantedBackDuringTheSetUpAreAskedForWhenItIsOpen) {
  machine_.reset();
  GrantShare share = *budget_.Admit(/*owner=*/2, /*initial_wanted=*/32), busy = *budget_.Admit(/*owner=*/3, 2);
  for (int i = 0; i < 64; ++i) busy.OnMessageArrived(now_);
  busy.Take(0xffff);
  ASSERT_EQ(budget_.NextWakeup(now_), std::optional<uint32_t>(2));
  machine_.emplace(config_, std::move(share), now_);
  EXPECT_TRUE(FindControl(FrameType::kReclaim).has_value());
}

TEST_F(ConnectionMachineTest, OfThreeCreditsTheOneThatTheAnswerSpendsIsGivenBack) {
  Restart(/*peer_credits=*/kCreditsPerConnectionMin + 1);
  Receive(FrameType::kReclaim);
  const std::optional<wire::FrameHeader> given = FindControl(FrameType::kReturn);
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->aux, 0u);
  EXPECT_EQ(machine_->credits_held(), kCreditsPerConnectionMin);
}

TEST_F(ConnectionMachineTest, TheMinimumIsKept) {
  Restart(/*peer_credits=*/kCreditsPerConnectionMin);
  Receive(FrameType::kReclaim);
  EXPECT_EQ(FindControl(FrameType::kReturn), std::nullopt);
}

TEST_F(ConnectionMachineTest, ABusyOneKeepsThem) {
  machine_->HoldMessages(true);
  SendEager();
  Receive(FrameType::kReclaim);
  EXPECT_EQ(FindControl(FrameType::kReturn), std::nullopt);
}

TEST_F(ConnectionMachineTest, AFailedReadEndsTheConnection) {
  Receive(AnnouncementOf(0, 5, 2000));
  const uint64_t fetch = Find<AskVerdict>()->fetch_id;
  machine_->OnVerdict(fetch, Verdict::kFetch);
  ASSERT_TRUE(Find<AllocateLanding>().has_value());
  machine_->OnLanding(fetch);
  ASSERT_TRUE(Find<PostRead>().has_value());
  machine_->OnReadCompleted(fetch, false);
  EXPECT_EQ(EndOf<Disconnect>().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace verbena::protocol
