// Extended completion queues, and resizing a completion queue.

#include <memory>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

ibv_cq_init_attr_ex Wish(uint64_t wc_flags) {
  ibv_cq_init_attr_ex wish = {};
  wish.cqe = 16;
  wish.wc_flags = wc_flags;
  return wish;
}

int StartPoll(ibv_cq_ex* queue) {
  ibv_poll_cq_attr attributes = {};
  return ibv_start_poll(queue, &attributes);
}

ibv_cq_ex* MakeQueue(uint64_t wc_flags) {
  ibv_cq_init_attr_ex wish = Wish(wc_flags);
  return ibv_create_cq_ex(SoftContext(), &wish);
}

// A pair whose right end receives into an extended completion queue.
class ExtendedPolling : public testing::Test {
 protected:
  ExtendedPolling() {
    right_.DestroyQueuePair();
    DestroyCompletionQueue(right_.receive_queue);
    right_.receive_queue = ibv_cq_ex_to_cq(queue_);
    ibv_qp_init_attr attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = right_.send_queue;
    attributes.recv_cq = right_.receive_queue;
    attributes.cap = {.max_send_wr = 4, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    EXPECT_EQ(CreateQueuePair(right_.domain, &attributes, &right_.queue_pair), 0);
    Link(left_, right_);
  }

  int StartPoll() { return soft::StartPoll(queue_); }
  void SendWithImmediate(uint32_t immediate) {
    ibv_send_wr request = {};
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = immediate;
    request.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(left_.Post(request), 0);
  }

  ibv_cq_ex* queue_ = MakeQueue(IBV_WC_STANDARD_FLAGS | uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP});
  TestEnd left_;
  TestEnd right_;
};

TEST_F(ExtendedPolling, EmptyQueueHasNoEntry) {
  EXPECT_EQ(StartPoll(), ENOENT);
  EXPECT_EQ(StartPoll(), ENOENT);  // The first left nothing locked.
}

TEST_F(ExtendedPolling, WalkVisitsEveryCompletionOnce) {
  for (uint64_t id = 0; id < 3; ++id) right_.Receive(id);
  for (uint64_t id = 0; id < 3; ++id) left_.Send(id);
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(queue_->wr_id, 0u);
  ASSERT_EQ(ibv_next_poll(queue_), 0);
  EXPECT_EQ(queue_->wr_id, 1u);
  ibv_end_poll(queue_);
  EXPECT_EQ(right_.PollReceives()->wr_id, 2u);  // What the walk left is there for ibv_poll_cq.
  EXPECT_EQ(StartPoll(), ENOENT);
}

TEST_F(ExtendedPolling, EndOfTheQueueEndsTheWalk) {
  right_.Receive(1);
  left_.Send(1);
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(ibv_next_poll(queue_), ENOENT);
  ibv_end_poll(queue_);
}

TEST_F(ExtendedPolling, ReadersTellWhatIbvPollCqWould) {
  right_.Receive(7);
  SendWithImmediate(0x1234);
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(queue_->status, IBV_WC_SUCCESS);
  EXPECT_EQ(queue_->wr_id, 7u);
  EXPECT_EQ(ibv_wc_read_opcode(queue_), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_wc_flags(queue_), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_imm_data(queue_), 0x1234u);
  EXPECT_EQ(ibv_wc_read_byte_len(queue_), 0u);
  EXPECT_EQ(ibv_wc_read_qp_num(queue_), right_.queue_pair->qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(queue_), left_.queue_pair->qp_num);
  EXPECT_EQ(ibv_wc_read_vendor_err(queue_), 0u);
  EXPECT_EQ(ibv_wc_read_slid(queue_), 0u);
  ibv_end_poll(queue_);
}

TEST_F(ExtendedPolling, FailureIsReadAsStatus) {
  right_.Receive(7);
  right_.EnterError();
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(queue_->status, IBV_WC_WR_FLUSH_ERR);
  ibv_end_poll(queue_);
}

TEST_F(ExtendedPolling, TimestampLiesBetweenTheClocksBeforeAndAfter) {
  ibv_values_ex before = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK, .raw_clock = {}};
  ASSERT_EQ(ibv_query_rt_values_ex(SoftContext(), &before), 0);
  right_.Receive(1);
  left_.Send(1);
  ASSERT_EQ(StartPoll(), 0);
  ibv_values_ex after = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK, .raw_clock = {}};
  ASSERT_EQ(ibv_query_rt_values_ex(SoftContext(), &after), 0);
  EXPECT_GE(ibv_wc_read_completion_ts(queue_), static_cast<uint64_t>(before.raw_clock.tv_nsec));
  EXPECT_LE(ibv_wc_read_completion_ts(queue_), static_cast<uint64_t>(after.raw_clock.tv_nsec));
  ibv_end_poll(queue_);
}

TEST(ExtendedQueue, UnknownWishesAreRefused) {
  EXPECT_EQ(MakeQueue(IBV_WC_EX_WITH_CVLAN), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_cq_init_attr_ex wish = Wish(0);
  wish.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  wish.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  EXPECT_EQ(ibv_create_cq_ex(SoftContext(), &wish), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wish = Wish(0);
  wish.cqe = 0;
  EXPECT_EQ(ibv_create_cq_ex(SoftContext(), &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ExtendedQueue, UnknownPollAttributesAreRefused) {
  ibv_cq_ex* queue = MakeQueue(0);
  ibv_poll_cq_attr attributes = {.comp_mask = 1};
  EXPECT_EQ(ibv_start_poll(queue, &attributes), EINVAL);
  EXPECT_EQ(StartPoll(queue), ENOENT);
  EXPECT_EQ(DestroyCompletionQueue(ibv_cq_ex_to_cq(queue)), 0);
}

TEST(ExtendedQueue, ModerationIsNotOffered) {
  TestEnd end;
  ibv_modify_cq_attr attributes = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {.cq_count = 1, .cq_period = 1}};
  EXPECT_EQ(ibv_modify_cq(end.send_queue, &attributes), EOPNOTSUPP);
}

TEST(ResizedQueue, KeepsWhatWaitsInOrder) {
  LinkedPair pair({.completions_max = 4});
  for (uint64_t id = 0; id < 4; ++id) pair.right.Receive(id);
  for (uint64_t id = 0; id < 4; ++id) pair.left.Send(id);
  EXPECT_EQ(pair.right.PollReceives()->wr_id, 0u);  // All four are taken in; the ring has turned by one.
  ASSERT_EQ(ResizeCompletionQueue(pair.right.receive_queue, 64), 0);
  EXPECT_EQ(pair.right.receive_queue->cqe, 64);
  for (uint64_t id = 4; id < 20; ++id) pair.right.Receive(id);
  for (uint64_t id = 4; id < 20; ++id) pair.left.Send(id);
  for (uint64_t id = 1; id < 20; ++id) EXPECT_EQ(pair.right.PollReceives()->wr_id, id);
}

TEST(ResizedQueue, DoesNotShrinkBelowWhatWaits) {
  LinkedPair pair({.completions_max = 8});
  for (uint64_t id = 0; id < 4; ++id) pair.right.Receive(id);
  for (uint64_t id = 0; id < 4; ++id) pair.left.Send(id);
  pair.right.PollReceives();
  EXPECT_EQ(ResizeCompletionQueue(pair.right.receive_queue, 2), EINVAL);
  EXPECT_EQ(ResizeCompletionQueue(pair.right.receive_queue, 3), 0);
  for (uint64_t id = 1; id < 4; ++id) EXPECT_EQ(pair.right.PollReceives()->wr_id, id);
}

TEST(ResizedQueue, SizeBeyondTheDeviceIsInvalid) {
  TestEnd end;
  EXPECT_EQ(ResizeCompletionQueue(end.send_queue, 0), EINVAL);
  EXPECT_EQ(ResizeCompletionQueue(end.send_queue, INT32_MAX), EINVAL);
}

}  // namespace
}  // namespace verbena::soft
