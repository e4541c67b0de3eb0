// Links whose rings have hardly any room, as a fault plan can have it: everything passes, in pieces, in its order.

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/fault_plan.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kRoomBytes = 256;

class NarrowRing : public testing::Test {
 protected:
  NarrowRing() {
    OverrideOneSidedPolicy(OneSidedPolicy::kResponder);
    PlanFaultsOfProcess({{.kind = FaultKind::kNarrowRing, .amount = kRoomBytes}});
    pair_.emplace(EndOptions{.with_channel = true});
    PlanFaultsOfProcess({});
    OverrideOneSidedPolicy(std::nullopt);
  }

  std::string Pattern(size_t bytes) {
    std::string text(bytes, 'a');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i * 7 % 23);
    return text;
  }

  TestEnd& left() { return pair_->left; }
  TestEnd& right() { return pair_->right; }

  std::optional<LinkedPair> pair_;
};

TEST_F(NarrowRing, LongMessageArrivesWholeAfterManyTurns) {
  const std::string text = Pattern(5000);
  left().Fill(0, text);
  right().Receive(1, 8192, 5000);
  left().Send(9, 0, 5000);
  EXPECT_FALSE(right().PollReceives().has_value()) << "more than there is room for was sent at once";
  auto sent = pair_->AwaitSend();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
  EXPECT_EQ(right().PollReceives()->byte_len, 5000u);
  EXPECT_EQ(right().Text(8192, 5000), text);
}

TEST_F(NarrowRing, ShortMessagesWaitForRoomAndKeepTheirOrder) {
  for (uint64_t id = 1; id <= 20; ++id) {
    left().Fill(id * 100, Pattern(id));
    left().Send(id, id * 100, static_cast<uint32_t>(id), IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    left().Fill(id * 100, std::string(id, '-'));  // Inline: the memory is ours again.
    right().Receive(id, 8192 + id * 100);
  }
  for (uint64_t id = 1; id <= 20; ++id) EXPECT_EQ(pair_->AwaitSend()->wr_id, id);
  for (uint64_t id = 1; id <= 20; ++id) {
    auto received = right().PollReceives();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, id);
    EXPECT_EQ(right().Text(8192 + id * 100, id), Pattern(id));
  }
}

TEST_F(NarrowRing, AnswerToAReadComesInPieces) {
  const std::string text = Pattern(3000);
  right().Fill(0, text);
  left().OneSided(5, IBV_WR_RDMA_READ, 8192, 3000, right().Address(0), right().region->rkey);
  EXPECT_EQ(pair_->AwaitSend()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(left().Text(8192, 3000), text);
}

TEST_F(NarrowRing, SenderThatSleepsIsWokenWhenThereIsRoom) {
  right().Receive(1, 0, 5000);
  left().Send(9, 0, 5000);
  ibv_req_notify_cq(left().send_queue, 0);
  for (int wake = 0; wake < 100; ++wake) {
    right().Turn();
    if (NextCompletionEvent(left().channel) != nullptr) break;  // Woken, it goes on sending.
  }
  auto sent = left().PollSends();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
}

TEST(NarrowestRing, HasRoomForOneRecordAtATime) {
  PlanFaultsOfProcess({{.kind = FaultKind::kNarrowRing, .amount = 1}});
  LinkedPair pair;
  PlanFaultsOfProcess({});
  pair.left.Fill(0, "a message of more than one record, each of which has room for sixty-four bytes at the most");
  pair.right.Receive(1, 8192);
  pair.left.Send(9, 0, 90);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.right.Text(8192, 90), pair.left.Text(0, 90));
}

// The send queue's memory grows while requests stand in it, partly sent, inline and not.
TEST_F(NarrowRing, WhatWaitsInTheSendQueueGoesOutAsItWasPosted) {
  constexpr uint64_t kMessages = 60;
  const auto text_of = [](uint64_t id) { return std::string(1 + id, static_cast<char>('a' + id % 23)); };
  for (uint64_t id = 0; id < kMessages; ++id) {
    const size_t offset = id % 2 == 0 ? 0 : id * 100;  // What goes inline is written over at once.
    left().Fill(offset, text_of(id));
    const unsigned flags = IBV_SEND_SIGNALED | (id % 2 == 0 ? IBV_SEND_INLINE : 0);
    ASSERT_EQ(left().Send(id, offset, static_cast<uint32_t>(text_of(id).size()), flags), 0) << id;
  }
  uint64_t completed = 0;
  for (uint64_t id = 0; id < kMessages; ++id) {
    ASSERT_EQ(right().Receive(id, 8192, 100), 0);
    std::optional<ibv_wc> received;
    for (int turn = 0; turn < 100 && !received.has_value(); ++turn) {
      received = right().PollReceives();
      if (std::optional<ibv_wc> sent = left().PollSends(); sent.has_value()) {
        ASSERT_EQ(sent->wr_id, completed++);
      }
    }
    ASSERT_TRUE(received.has_value()) << id;
    ASSERT_EQ(received->wr_id, id);
    ASSERT_EQ(right().Text(8192, received->byte_len), text_of(id));
  }
}

}  // namespace
}  // namespace verbena::soft
