// Completion channels, arming, solicited events, and the wake-ups between the two ends of a link.

#include <poll.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "transport/soft/completion_channel.h"
#include "transport/soft/control_path.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

bool Readable(const ibv_comp_channel* channel) {
  pollfd entry = {.fd = channel->fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

class Events : public testing::Test {
 protected:
  LinkedPair pair_{{.with_channel = true}};
  TestEnd& left_ = pair_.left;
  TestEnd& right_ = pair_.right;
};

TEST_F(Events, QueueThatIsNotArmedRaisesNone) {
  right_.Receive(1);
  left_.Send(9);
  EXPECT_FALSE(Readable(right_.channel));
  right_.PollReceives();
  EXPECT_EQ(NextCompletionEvent(right_.channel), nullptr);
}

TEST_F(Events, ArmedQueueRaisesOneEvent) {
  ibv_req_notify_cq(right_.receive_queue, 0);
  right_.Receive(1);
  left_.Send(9);
  EXPECT_TRUE(Readable(right_.channel));
  EXPECT_EQ(NextCompletionEvent(right_.channel), right_.receive_queue);
  EXPECT_EQ(NextCompletionEvent(right_.channel), nullptr);
  EXPECT_EQ(right_.PollReceives()->wr_id, 1u);
  EXPECT_FALSE(Readable(right_.channel));
}

TEST_F(Events, DescriptorThatSomebodyDrainedIsMadeReadableAgainAtTheSecondLook) {
  ibv_req_notify_cq(right_.receive_queue, 0);
  right_.Receive(1);
  left_.Send(9);
  right_.PollReceives();  // The event waits now.
  char stolen[16];
  ASSERT_GT(read(right_.channel->fd, stolen, sizeof(stolen)), 0);
  auto& channel = *static_cast<CompletionChannel*>(right_.channel);
  EXPECT_TRUE(channel.RemindOfEvents());
  EXPECT_FALSE(Readable(right_.channel));
  EXPECT_TRUE(channel.RemindOfEvents());
  EXPECT_TRUE(Readable(right_.channel));
  EXPECT_EQ(NextCompletionEvent(right_.channel), right_.receive_queue);
  EXPECT_FALSE(channel.RemindOfEvents());
}

TEST_F(Events, EventIsRaisedOncePerArming) {
  ibv_req_notify_cq(right_.receive_queue, 0);
  for (uint64_t id = 0; id < 2; ++id) {
    right_.Receive(id);
    left_.Send(id);
  }
  EXPECT_EQ(NextCompletionEvent(right_.channel), right_.receive_queue);
  EXPECT_EQ(NextCompletionEvent(right_.channel), nullptr);
}

TEST_F(Events, MessageBeforeArmingIsFoundByTheNextPoll) {
  right_.Receive(1);
  left_.Send(9);
  ibv_req_notify_cq(right_.receive_queue, 0);
  EXPECT_TRUE(right_.PollReceives().has_value());
}

TEST_F(Events, SenderAsleepWakesWhenItsSendIsAccepted) {
  right_.Receive(1);
  ibv_req_notify_cq(left_.send_queue, 0);
  left_.Send(9);
  EXPECT_FALSE(Readable(left_.channel));
  right_.PollReceives();
  EXPECT_TRUE(Readable(left_.channel));
  EXPECT_EQ(NextCompletionEvent(left_.channel), left_.send_queue);
  EXPECT_EQ(left_.PollSends()->wr_id, 9u);
}

TEST_F(Events, AcceptanceOfAnUnsignaledSendWakesNobody) {
  right_.Receive(1);
  ibv_req_notify_cq(left_.send_queue, 0);
  left_.Send(9, 0, 64, 0);
  right_.PollReceives();
  EXPECT_FALSE(Readable(left_.channel));
}

TEST_F(Events, ReadBehindAnUnsignaledSendWakesItsSleepingPoster) {
  right_.Receive(1);
  ibv_req_notify_cq(left_.send_queue, 0);
  left_.Send(8, 0, 64, 0);
  left_.OneSided(9, IBV_WR_RDMA_READ, 0, 8, right_.Address(0), right_.region->rkey);
  right_.PollReceives();
  EXPECT_EQ(NextCompletionEvent(left_.channel), left_.send_queue);
  EXPECT_EQ(left_.PollSends()->wr_id, 9u);
}

TEST_F(Events, SenderAsleepWithAFullRingWakesWhenThereIsRoom) {
  ibv_req_notify_cq(left_.send_queue, 0);
  right_.Receive(1, 0, 1 << 20);
  left_.Send(9, 0, 1 << 20);
  for (int wake = 0; wake < 100; ++wake) {
    right_.PollReceives();
    ASSERT_TRUE(Readable(left_.channel));
    if (NextCompletionEvent(left_.channel) != nullptr) break;
  }
  EXPECT_EQ(left_.PollSends()->wr_id, 9u);
}

TEST_F(Events, PlainMessageDoesNotWakeAQueueArmedForSolicited) {
  ibv_req_notify_cq(right_.receive_queue, 1);
  right_.Receive(1);
  left_.Send(9, 0, 64, 0);
  EXPECT_FALSE(Readable(right_.channel));
}

TEST_F(Events, SolicitedMessageWakesAQueueArmedForSolicited) {
  ibv_req_notify_cq(right_.receive_queue, 1);
  right_.Receive(1);
  left_.Send(9, 0, 64, IBV_SEND_SOLICITED);
  EXPECT_EQ(NextCompletionEvent(right_.channel), right_.receive_queue);
}

TEST_F(Events, FailureWakesAQueueArmedForSolicited) {
  ibv_req_notify_cq(left_.receive_queue, 1);
  left_.Receive(1);
  left_.EnterError();
  EXPECT_EQ(NextCompletionEvent(left_.channel), left_.receive_queue);
}

// Its word waits for the acceptance of what was posted before.
TEST_F(Events, FailureBehindAMessageWakesAQueueArmedForSolicited) {
  left_.Send(9);
  left_.Send(10, left_.memory.size());  // Not its memory.
  ibv_req_notify_cq(left_.send_queue, 1);
  EXPECT_FALSE(Readable(left_.channel));
  right_.Receive(1);
  right_.PollReceives();
  ASSERT_TRUE(Readable(left_.channel));
  EXPECT_EQ(NextCompletionEvent(left_.channel), left_.send_queue);
}

TEST_F(Events, AcceptedMessageDoesNotWakeAQueueArmedForSolicited) {
  left_.Send(9);
  ibv_req_notify_cq(left_.send_queue, 1);
  right_.Receive(1);
  right_.PollReceives();
  EXPECT_FALSE(Readable(left_.channel));
  EXPECT_EQ(left_.PollSends()->wr_id, 9u);
}

TEST_F(Events, WakeUpMeantForOneQueueDoesNotSwallowAnothers) {
  ibv_req_notify_cq(right_.receive_queue, 0);
  ibv_req_notify_cq(right_.send_queue, 0);
  left_.Receive(1);
  right_.Send(5);
  right_.Receive(2);
  left_.PollReceives();  // Accepts: a wake-up for the send queue.
  left_.Send(9);         // A wake-up for the receive queue.
  ibv_cq* first = NextCompletionEvent(right_.channel);
  ibv_cq* second = NextCompletionEvent(right_.channel);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(first, second);
}

TEST_F(Events, WakeUpWithoutCompletionLeavesTheQueueArmed) {
  ibv_req_notify_cq(right_.receive_queue, 0);
  left_.Send(9);  // No receive is posted: the wake-up brings nothing.
  EXPECT_EQ(NextCompletionEvent(right_.channel), nullptr);
  right_.Receive(1);
  EXPECT_EQ(NextCompletionEvent(right_.channel), right_.receive_queue);
}

TEST_F(Events, SleepingSenderIsWokenWhenItsClosedPeerIsGivenUp) {
  ibv_req_notify_cq(left_.send_queue, 0);
  left_.Send(9);
  right_.EnterError();
  EXPECT_EQ(NextCompletionEvent(left_.channel), nullptr);
  left_.SuperviseToTheEnd();
  EXPECT_EQ(NextCompletionEvent(left_.channel), left_.send_queue);
  EXPECT_EQ(left_.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace verbena::soft
