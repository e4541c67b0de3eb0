// The shared receive queue.

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr EndOptions kShared = {.shared_receives = true};

int SetLimit(TestEnd& end, uint32_t limit) {
  ibv_srq_attr attributes = {};
  attributes.srq_limit = limit;
  return ModifySharedReceiveQueue(end.shared, &attributes, IBV_SRQ_LIMIT);
}

TEST(SharedReceives, AreTakenInOrder) {
  LinkedPair pair(kShared);
  for (uint64_t id = 0; id < 3; ++id) pair.right.Receive(id, id * 100);
  for (uint64_t id = 0; id < 3; ++id) pair.left.Send(id);
  for (uint64_t id = 0; id < 3; ++id) EXPECT_EQ(pair.right.PollReceives()->wr_id, id);
}

TEST(SharedReceives, MessageWithoutReceiveWaitsForOne) {
  LinkedPair pair(kShared);
  pair.left.Send(9);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  pair.right.Receive(1);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
}

TEST(SharedReceives, PostWakesASleepingQueueWithAWaitingMessage) {
  EndOptions options = kShared;
  options.with_channel = true;
  LinkedPair pair(options);
  pair.left.Send(9);
  ibv_req_notify_cq(pair.right.receive_queue, 0);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  pair.right.Receive(1);
  EXPECT_EQ(NextCompletionEvent(pair.right.channel), pair.right.receive_queue);
}

TEST(SharedReceives, ImpatientSenderGetsReceiverNotReady) {
  LinkedPair pair(kShared, {.rnr_retry_count = 0});
  pair.left.Send(9);
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(SharedReceives, BeyondTheCapacityIsNoMemory) {
  TestEnd end({.shared_receives = true, .receives_max = 2});
  EXPECT_EQ(end.Receive(1), 0);
  EXPECT_EQ(end.Receive(2), 0);
  EXPECT_EQ(end.Receive(3), ENOMEM);
}

TEST(SharedReceives, LimitEventComesOnceWhenFewerRemain) {
  DropAsyncEvents();
  LinkedPair pair(kShared);
  for (uint64_t id = 0; id < 4; ++id) pair.right.Receive(id);
  ASSERT_EQ(SetLimit(pair.right, 3), 0);
  pair.left.Send(1);
  pair.right.PollReceives();
  EXPECT_FALSE(NextAsyncEvent().has_value());
  pair.left.Send(2);
  pair.right.PollReceives();
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event->element.srq, pair.right.shared);
  pair.left.Send(3);
  pair.right.PollReceives();
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST(SharedReceives, LimitAboveWhatIsPostedFiresAtOnce) {
  DropAsyncEvents();
  TestEnd end(kShared);
  ASSERT_EQ(SetLimit(end, 1), 0);
  EXPECT_TRUE(NextAsyncEvent().has_value());
}

TEST(SharedReceives, LimitBeyondTheCapacityIsInvalid) {
  TestEnd end(kShared);
  EXPECT_EQ(SetLimit(end, 1000), EINVAL);
}

int SetCapacity(TestEnd& end, uint32_t receives_max) {
  ibv_srq_attr attributes = {};
  attributes.max_wr = receives_max;
  return ModifySharedReceiveQueue(end.shared, &attributes, IBV_SRQ_MAX_WR);
}

TEST(SharedReceives, ResizeKeepsWhatIsPostedInOrder) {
  LinkedPair pair({.shared_receives = true, .receives_max = 3});
  for (uint64_t id = 0; id < 3; ++id) pair.right.Receive(id);
  pair.left.Send(1);
  EXPECT_EQ(pair.right.PollReceives()->wr_id, 0u);
  pair.right.Receive(3);
  ASSERT_EQ(SetCapacity(pair.right, 5), 0);
  EXPECT_EQ(pair.right.Receive(4), 0);
  EXPECT_EQ(pair.right.Receive(5), 0);
  EXPECT_EQ(pair.right.Receive(6), ENOMEM);
  for (uint64_t id = 1; id < 6; ++id) {
    pair.left.Send(id);
    auto received = pair.right.PollReceives();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, id);
    EXPECT_EQ(received->status, IBV_WC_SUCCESS);
  }
}

TEST(SharedReceives, ResizeBelowWhatIsPostedOrTheLimitIsInvalid) {
  TestEnd end({.shared_receives = true, .receives_max = 4});
  for (uint64_t id = 0; id < 3; ++id) end.Receive(id);
  EXPECT_EQ(SetCapacity(end, 2), EINVAL);
  ASSERT_EQ(SetLimit(end, 3), 0);
  EXPECT_EQ(SetCapacity(end, 0), EINVAL);
  ASSERT_EQ(SetCapacity(end, 3), 0);
  ibv_srq_attr attributes = {};
  ASSERT_EQ(QuerySharedReceiveQueue(end.shared, &attributes), 0);
  EXPECT_EQ(attributes.max_wr, 3u);
  EXPECT_EQ(attributes.srq_limit, 3u);
}

TEST(SharedReceives, QueueInUseCannotBeDestroyed) {
  TestEnd end(kShared);
  EXPECT_EQ(DestroySharedReceiveQueue(end.shared), EBUSY);
  EXPECT_EQ(DestroyCompletionQueue(end.receive_queue), EBUSY);
  EXPECT_EQ(DeallocProtectionDomain(end.domain), EBUSY);
}

TEST(SharedReceives, AreNotFlushedWithAQueuePair) {
  LinkedPair pair(kShared);
  pair.right.Receive(1);
  pair.right.EnterError();
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  DropAsyncEvents();
}

}  // namespace
}  // namespace verbena::soft
