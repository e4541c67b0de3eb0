// Posting with ibv_wr_start, builders, setters and ibv_wr_complete.

#include "transport/soft/extended_posting.h"

#include <arpa/inet.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/raw_states.h"

namespace verbena::soft {
namespace {

ibv_qp_init_attr_ex Wish(const TestEnd& end, uint64_t operations) {
  ibv_qp_init_attr_ex wish = {};
  wish.send_cq = end.send_queue;
  wish.recv_cq = end.receive_queue;
  wish.cap = {.max_send_wr = 4, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 64};
  wish.qp_type = IBV_QPT_RC;
  wish.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wish.pd = end.domain;
  wish.send_ops_flags = operations;
  return wish;
}

// A pair whose left end posts the extended way; every request is signaled.
class ExtendedPosts : public testing::Test {
 protected:
  ExtendedPosts() {
    left_.DestroyQueuePair();
    ibv_qp_init_attr_ex wish = Wish(left_, kSendOperationsKnown);
    left_.queue_pair = ibv_create_qp_ex(left_.context, &wish);
    EXPECT_EQ(ToInit(left_.queue_pair), 0);
    Link(left_, right_);
    post_ = ExtendedQueuePair(left_.queue_pair);
    post_->wr_flags = IBV_SEND_SIGNALED;
  }

  void BuildSend(uint64_t wr_id, size_t offset = 0, uint32_t length = 8) {
    post_->wr_id = wr_id;
    ibv_wr_send(post_);
    ibv_wr_set_sge(post_, left_.region->lkey, left_.Address(offset), length);
  }

  TestEnd left_;
  TestEnd right_;
  ibv_qp_ex* post_ = nullptr;
};

TEST_F(ExtendedPosts, ArePostedTogetherByComplete) {
  right_.Receive(1);
  right_.Receive(2, 100);
  left_.Fill(0, "onetwo");
  ibv_wr_start(post_);
  BuildSend(10, 0, 3);
  BuildSend(11, 3, 3);
  EXPECT_FALSE(right_.PollReceives().has_value());
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  EXPECT_EQ(right_.PollReceives()->byte_len, 3u);
  EXPECT_EQ(right_.PollReceives()->wr_id, 2u);
  EXPECT_EQ(right_.Text(0, 3) + right_.Text(100, 3), "onetwo");
  EXPECT_EQ(left_.PollSends()->wr_id, 10u);
  EXPECT_EQ(left_.PollSends()->wr_id, 11u);
}

TEST_F(ExtendedPosts, AbortDropsThem) {
  right_.Receive(1);
  ibv_wr_start(post_);
  BuildSend(10);
  ibv_wr_abort(post_);
  EXPECT_FALSE(right_.PollReceives().has_value());
  ibv_wr_start(post_);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  EXPECT_FALSE(right_.PollReceives().has_value());
}

TEST_F(ExtendedPosts, MixWithPlainPosts) {
  for (uint64_t id = 0; id < 3; ++id) right_.Receive(id);
  left_.Send(20);
  ibv_wr_start(post_);
  BuildSend(21);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  left_.Send(22);
  for (uint64_t id = 0; id < 3; ++id) right_.PollReceives();
  for (uint64_t id = 20; id < 23; ++id) EXPECT_EQ(left_.PollSends()->wr_id, id);
}

TEST_F(ExtendedPosts, InlineBytesAreCopiedBySetting) {
  right_.Receive(1);
  std::string text = "inline";
  ibv_wr_start(post_);
  ibv_wr_send(post_);
  ibv_data_buf pieces[] = {{.addr = text.data(), .length = 2}, {.addr = text.data() + 2, .length = 4}};
  ibv_wr_set_inline_data_list(post_, 2, pieces);
  text = "xxxxxx";
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  EXPECT_EQ(right_.PollReceives()->byte_len, 6u);
  EXPECT_EQ(right_.Text(0, 6), "inline");
}

TEST_F(ExtendedPosts, SegmentsOfAListAreGathered) {
  right_.Receive(1);
  left_.Fill(0, "ab");
  left_.Fill(500, "cd");
  ibv_sge segments[] = {left_.Segment(0, 2), left_.Segment(500, 2)};
  ibv_wr_start(post_);
  ibv_wr_send_imm(post_, htonl(5));
  ibv_wr_set_sge_list(post_, 2, segments);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  EXPECT_EQ(right_.PollReceives()->imm_data, htonl(5));
  EXPECT_EQ(right_.Text(0, 4), "abcd");
}

TEST_F(ExtendedPosts, ReadAndWriteReachTheOtherEnd) {
  right_.Fill(0, "theirs");
  left_.Fill(200, "ours");
  ibv_wr_start(post_);
  post_->wr_id = 1;
  ibv_wr_rdma_read(post_, right_.region->rkey, right_.Address(0));
  ibv_wr_set_sge(post_, left_.region->lkey, left_.Address(0), 6);
  post_->wr_id = 2;
  ibv_wr_rdma_write(post_, right_.region->rkey, right_.Address(100));
  ibv_wr_set_sge(post_, left_.region->lkey, left_.Address(200), 4);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  EXPECT_EQ(left_.PollSends()->opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(left_.PollSends()->opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(left_.Text(0, 6), "theirs");
  EXPECT_EQ(right_.Text(100, 4), "ours");
}

TEST_F(ExtendedPosts, WriteWithImmediateTakesAReceive) {
  right_.Receive(1);
  ibv_wr_start(post_);
  ibv_wr_rdma_write_imm(post_, right_.region->rkey, right_.Address(100), htonl(7));
  ibv_wr_set_sge(post_, left_.region->lkey, left_.Address(200), 4);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
  auto completion = right_.PollReceives();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(completion->imm_data, htonl(7));
}

TEST_F(ExtendedPosts, OneFaultyRequestKeepsAllBack) {
  right_.Receive(1);
  ibv_sge segments[3] = {};
  ibv_wr_start(post_);
  BuildSend(10);
  ibv_wr_send(post_);
  ibv_wr_set_sge_list(post_, 3, segments);  // The queue pair was granted two.
  EXPECT_EQ(ibv_wr_complete(post_), EINVAL);
  EXPECT_FALSE(right_.PollReceives().has_value());
}

TEST_F(ExtendedPosts, InlineReadKeepsAllBack) {
  right_.Receive(1);
  char byte = 0;
  ibv_wr_start(post_);
  BuildSend(10);
  ibv_wr_rdma_read(post_, right_.region->rkey, right_.Address(0));
  ibv_wr_set_inline_data(post_, &byte, 1);
  EXPECT_EQ(ibv_wr_complete(post_), EINVAL);
  EXPECT_FALSE(right_.PollReceives().has_value());
}

TEST_F(ExtendedPosts, TooManyInlineBytesAreInvalid) {
  std::string text(65, 'x');
  ibv_wr_start(post_);
  ibv_wr_send(post_);
  ibv_wr_set_inline_data(post_, text.data(), text.size());
  EXPECT_EQ(ibv_wr_complete(post_), EINVAL);
}

TEST_F(ExtendedPosts, SetterWithoutRequestIsInvalid) {
  ibv_wr_start(post_);
  ibv_wr_set_sge(post_, 0, 0, 0);
  EXPECT_EQ(ibv_wr_complete(post_), EINVAL);
}

TEST_F(ExtendedPosts, MoreThanTheQueueHoldsIsNoMemory) {
  ibv_wr_start(post_);
  for (uint64_t id = 0; id < 5; ++id) BuildSend(id);
  EXPECT_EQ(ibv_wr_complete(post_), ENOMEM);
  left_.Send(9);
  ibv_wr_start(post_);
  for (uint64_t id = 0; id < 4; ++id) BuildSend(id);  // One place is taken, until somebody receives.
  EXPECT_EQ(ibv_wr_complete(post_), ENOMEM);
  right_.Receive(1);
  right_.PollReceives();
  ibv_wr_start(post_);
  for (uint64_t id = 0; id < 4; ++id) BuildSend(id);
  EXPECT_EQ(ibv_wr_complete(post_), 0);
}

TEST(ExtendedQueuePairs, HaveOnlyTheOperationsAskedFor) {
  TestEnd end;
  ibv_qp_init_attr_ex wish = Wish(end, IBV_QP_EX_WITH_SEND);
  ibv_qp* queue_pair = ibv_create_qp_ex(end.context, &wish);
  ibv_qp_ex* post = ExtendedQueuePair(queue_pair);
  ASSERT_NE(post, nullptr);
  EXPECT_NE(post->wr_send, nullptr);
  EXPECT_EQ(post->wr_rdma_read, nullptr);
  EXPECT_EQ(DestroyQueuePair(queue_pair), 0);
}

TEST(ExtendedQueuePairs, OrdinaryOneIsNone) {
  TestEnd end;
  EXPECT_EQ(ExtendedQueuePair(end.queue_pair), nullptr);
}

TEST(ExtendedQueuePairs, UnknownWishesAreRefused) {
  TestEnd end;
  ibv_qp_init_attr_ex wish = Wish(end, IBV_QP_EX_WITH_TSO);
  EXPECT_EQ(ibv_create_qp_ex(end.context, &wish), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wish = Wish(end, IBV_QP_EX_WITH_SEND);
  wish.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  EXPECT_EQ(ibv_create_qp_ex(end.context, &wish), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wish.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  EXPECT_EQ(ibv_create_qp_ex(end.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::soft
