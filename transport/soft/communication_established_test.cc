// IBV_EVENT_COMM_EST: the peer uses a connection for which this end is not ready to send yet.

#include "gtest/gtest.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/raw_states.h"

namespace verbena::soft {
namespace {

// Two queue pairs that the application takes through their states: the left one sends already, the right one does not.
class CommunicationEstablished : public testing::Test {
 protected:
  CommunicationEstablished() {
    EXPECT_EQ(ToReadyToSend(left_.queue_pair, kNobody), 0);
    GetReadyToReceive();
  }

  void GetReadyToReceive() {
    EXPECT_EQ(ToInit(right_.queue_pair), 0);
    EXPECT_EQ(ToReadyToReceive(right_.queue_pair, kNobody), 0);
    Link(left_, right_);
    right_.Turn();
  }

  TestEnd left_{{.unconnected = true}};
  TestEnd right_{{.unconnected = true}};
};

TEST_F(CommunicationEstablished, FirstMessageInReadyToReceiveRaisesItOnce) {
  EXPECT_FALSE(NextAsyncEvent().has_value());
  for (uint64_t id = 1; id <= 2; ++id) right_.Receive(id);
  left_.Send(1);
  EXPECT_TRUE(right_.PollReceives().has_value());
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_COMM_EST);
  EXPECT_EQ(event->element.qp, right_.queue_pair);
  left_.Send(2);
  EXPECT_TRUE(right_.PollReceives().has_value());
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST_F(CommunicationEstablished, MessageThatFindsNoReceiveRaisesItToo) {
  left_.Send(1);
  right_.Turn();
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_COMM_EST);
}

TEST_F(CommunicationEstablished, QueuePairThatIsReadyToSendRaisesNothing) {
  ibv_qp_attr sending = ReadyToSend();
  ASSERT_EQ(ModifyQueuePair(right_.queue_pair, &sending, kReadyToSendMask), 0);
  right_.Receive(1);
  left_.Send(1);
  EXPECT_TRUE(right_.PollReceives().has_value());
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST_F(CommunicationEstablished, NextLifeOfAQueuePairRaisesItAgain) {
  left_.Send(1);
  right_.Turn();
  EXPECT_TRUE(NextAsyncEvent().has_value());
  for (TestEnd* end : {&left_, &right_}) ASSERT_EQ(ToReset(end->queue_pair), 0);
  ASSERT_EQ(ToReadyToSend(left_.queue_pair, kNobody), 0);
  GetReadyToReceive();
  EXPECT_FALSE(NextAsyncEvent().has_value());
  left_.Send(2);
  right_.Turn();
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_COMM_EST);
}

}  // namespace
}  // namespace verbena::soft
