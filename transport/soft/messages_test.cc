// SEND and receive between two queue pairs of one process.

#include <algorithm>
#include <cstddef>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

TEST(Messages, SendArrivesInTheOldestReceive) {
  LinkedPair pair;
  pair.left.Fill(0, "hello");
  ASSERT_EQ(pair.right.Receive(7, 100), 0);
  ASSERT_EQ(pair.left.Send(9, 0, 5), 0);
  auto received = pair.right.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, IBV_WC_SUCCESS);
  EXPECT_EQ(received->opcode, IBV_WC_RECV);
  EXPECT_EQ(received->wr_id, 7u);
  EXPECT_EQ(received->byte_len, 5u);
  EXPECT_EQ(received->qp_num, pair.right.queue_pair->qp_num);
  EXPECT_EQ(received->src_qp, pair.left.queue_pair->qp_num);
  EXPECT_EQ(pair.right.Text(100, 5), "hello");
}

TEST(Messages, SendCompletesWhenThePeerHasTakenIt) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.Send(9);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.PollReceives();
  auto sent = pair.left.PollSends();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->wr_id, 9u);
  EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent->opcode, IBV_WC_SEND);
}

TEST(Messages, UnsignaledSendsCompleteSilently) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.right.Receive(2);
  pair.left.Send(8, 0, 64, 0);
  pair.left.Send(9, 0, 64, IBV_SEND_SIGNALED);
  pair.right.PollReceives();
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->wr_id, 9u);
  EXPECT_FALSE(pair.left.PollSends().has_value());
}

TEST(Messages, UnsignaledSendsDoNotFillTheQueueWhileAnswersArriveInEveryTurn) {
  LinkedPair pair({.sends_max = 8});
  for (uint64_t id = 0; id < 100; ++id) {
    for (TestEnd* end : {&pair.left, &pair.right}) ASSERT_EQ(end->Receive(id), 0);
    ASSERT_EQ(pair.left.Send(id, 0, 64, 0), 0) << id;
    ASSERT_TRUE(pair.right.PollReceives().has_value()) << id;
    ASSERT_EQ(pair.right.Send(id, 0, 64, 0), 0) << id;
    ASSERT_TRUE(pair.left.PollReceives().has_value()) << id;
  }
}

TEST(Messages, ImmediateArrivesInTheCompletion) {
  LinkedPair pair;
  pair.right.Receive(1);
  ibv_send_wr request = {};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = 0x12345678;
  ASSERT_EQ(pair.left.Post(request), 0);
  auto received = pair.right.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(received->imm_data, 0x12345678u);
  EXPECT_EQ(received->byte_len, 0u);
}

TEST(Messages, InlineBytesMayChangeAfterPosting) {
  LinkedPair pair;
  char text[] = "inline";
  ibv_sge segment = {.addr = reinterpret_cast<uint64_t>(text), .length = 6, .lkey = 0};
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE;
  pair.left.Send(1, 0, 500'000);  // Fills the ring: what follows has to wait.
  ASSERT_EQ(pair.left.Post(request), 0);
  text[0] = 'X';
  pair.right.Receive(1, 0, 600'000);
  pair.right.Receive(2, 600'000);
  int polls = 0;
  for (; polls < 1000 && pair.right.Text(600'000, 6) != "inline"; ++polls) {
    pair.right.PollReceives();
    pair.left.PollSends();
  }
  EXPECT_LT(polls, 1000);
}

TEST(Messages, LongMessageTravelsThroughASmallRing) {
  LinkedPair pair;
  constexpr uint32_t kBytes = 700'001;
  for (size_t i = 0; i < kBytes; ++i) pair.left.memory[i] = static_cast<std::byte>(i * 31 >> 3);
  pair.right.Receive(1, 0, kBytes);
  pair.left.Send(9, 0, kBytes);
  std::optional<ibv_wc> received;
  std::optional<ibv_wc> sent;
  for (int polls = 0; polls < 1000 && !sent.has_value(); ++polls) {
    if (!received.has_value()) received = pair.right.PollReceives();
    sent = pair.left.PollSends();
  }
  ASSERT_TRUE(received.has_value() && sent.has_value());
  EXPECT_EQ(received->byte_len, kBytes);
  EXPECT_EQ(pair.left.Text(0, kBytes), pair.right.Text(0, kBytes));
}

TEST(Messages, ManyMessagesWrapTheRing) {
  LinkedPair pair;
  for (uint64_t i = 0; i < 10'000; ++i) {
    pair.left.memory[0] = static_cast<std::byte>(i);
    pair.right.Receive(i, 0);
    auto length = static_cast<uint32_t>(i % 3000 + 1);
    ASSERT_EQ(pair.left.Send(i, 0, length), 0);
    auto received = pair.right.PollReceives();
    ASSERT_TRUE(received.has_value());
    ASSERT_EQ(received->byte_len, length);
    ASSERT_EQ(pair.right.memory[0], static_cast<std::byte>(i));
    ASSERT_EQ(pair.left.PollSends()->wr_id, i);
  }
}

TEST(Messages, FullSendQueueIsNoMemory) {
  LinkedPair pair({.sends_max = 2});
  EXPECT_EQ(pair.left.Send(1), 0);
  EXPECT_EQ(pair.left.Send(2), 0);
  EXPECT_EQ(pair.left.Send(3), ENOMEM);
}

TEST(Messages, MessageWithoutReceiveWaitsForOne) {
  LinkedPair pair;
  pair.left.Send(9);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  pair.right.Receive(1);
  EXPECT_EQ(pair.right.PollReceives()->wr_id, 1u);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(Messages, ReplyIsNotDeliveredBeforeTheCompletionOfItsRequest) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.Receive(2);
  pair.left.Send(9);
  pair.right.PollReceives();
  pair.right.Send(10);
  ASSERT_TRUE(pair.left.PollReceives().has_value());
  ibv_wc sent = {};
  EXPECT_EQ(ibv_poll_cq(pair.left.send_queue, 1, &sent), 1);
  EXPECT_EQ(sent.wr_id, 9u);
}

TEST(Messages, PostingBeyondWhatWasGrantedIsInvalid) {
  LinkedPair pair;
  ibv_sge segments[3] = {};
  ibv_send_wr request = {};
  request.opcode = IBV_WR_SEND;
  request.sg_list = segments;
  request.num_sge = 3;
  EXPECT_EQ(pair.left.Post(request), EINVAL);
  EXPECT_EQ(pair.left.Send(1, 0, 129, IBV_SEND_INLINE), EINVAL);
}

TEST(Messages, AFewBytesGoInlineThoughNoneWereAskedFor) {
  LinkedPair pair(EndOptions{.inline_bytes_max = 0});
  EXPECT_EQ(pair.left.Send(1, 0, 17, IBV_SEND_INLINE), EINVAL);
  EXPECT_EQ(pair.left.Send(1, 0, 16, IBV_SEND_INLINE), 0);
}

// However many there have been: else each connection would in time have its whole rings in memory.
TEST(Messages, OneAfterAnotherSmallOnesUseThePageOfTheControlLines) {
  LinkedPair pair;
  constexpr uint64_t kMessages = 2000;
  for (uint64_t id = 0; id < kMessages; ++id) {
    ASSERT_EQ(pair.right.Receive(id, 0, 100), 0);
    pair.left.Fill(0, std::string(100, 'x'));
    ASSERT_EQ(pair.left.Send(id, 0, 100), 0);
    ASSERT_TRUE(pair.right.PollReceives().has_value());
    ASSERT_TRUE(pair.left.PollSends().has_value());
    ASSERT_EQ(pair.left.Receive(id, 0, 100), 0);
    ASSERT_EQ(pair.right.Send(id, 0, 100), 0);
    ASSERT_TRUE(pair.left.PollReceives().has_value());
    ASSERT_TRUE(pair.right.PollSends().has_value());
  }
  PairMemory& memory = static_cast<QueuePair*>(pair.left.queue_pair)->link_memory()->pair();
  for (const EndControl& end : memory.control.ends) ASSERT_GT(end.requests_out.ring.tail.load(), kMessages * 100);
  const auto untouched = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte byte) { return byte == std::byte{0}; });
  };
  EXPECT_TRUE(untouched(memory.first_request_ring + kRingBytesBesideControl, memory.first_request_ring + kRingBytes));
  EXPECT_TRUE(untouched(memory.second_request_ring, memory.second_request_ring + kRingBytes - kRingBytesBesideControl));
}

}  // namespace
}  // namespace verbena::soft
