// How SENDs and queue pairs fail: the statuses of InfiniBand, at the same end and in the same order.

#include <poll.h>

#include <chrono>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

using std::chrono::milliseconds;

constexpr LinkParameters kNoPatience = {.rnr_retry_count = 0};

TEST(Failures, MessageBeyondTheReceiveIsLengthErrorHereAndInvalidRequestThere) {
  LinkedPair pair;
  pair.right.Receive(1, 0, 63);
  pair.left.Send(9, 0, 64);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
}

TEST(Failures, ReceiveIntoAReadOnlyRegionIsProtectionErrorHereAndOperationErrorThere) {
  LinkedPair pair({.access = IBV_ACCESS_REMOTE_READ});
  pair.right.Receive(1);
  pair.left.Send(9);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_REM_OP_ERR);
}

TEST(Failures, UnknownLocalKeyIsLocalProtectionError) {
  LinkedPair pair;
  ibv_sge segment = pair.left.Segment(0, 8);
  segment.lkey ^= 1;
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ASSERT_EQ(pair.left.Post(request), 0);
  auto done = pair.left.PollSends();
  ASSERT_TRUE(done.has_value()) << "a failed request completes even when unsignaled";
  EXPECT_EQ(done->status, IBV_WC_LOC_PROT_ERR);
}

TEST(Failures, LocalErrorWaitsForEarlierSends) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.Send(8);
  ibv_sge segment = pair.left.Segment(pair.left.memory.size() - 4, 8);
  ibv_send_wr request = {};
  request.wr_id = 9;
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  pair.left.Post(request);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_LOC_PROT_ERR);
}

TEST(Failures, ImpatientSenderGetsReceiverNotReady) {
  LinkedPair pair({}, kNoPatience);
  pair.left.Send(9, 0, 64, 0);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  auto done = pair.left.PollSends();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(done->wr_id, 9u);
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.right.State(), IBV_QPS_RTS);
}

TEST(Failures, RefusalIsSeenWhileMessagesArrive) {
  LinkedPair pair({}, kNoPatience);
  pair.left.Receive(1);
  pair.right.Send(2);
  pair.left.Send(9, 0, 64, 0);
  pair.right.Turn();
  auto done = pair.left.PollSends();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(Failures, PatienceOfFiniteRetriesEnds) {
  LinkedPair pair({}, {.rnr_retry_count = 2});
  ibv_qp_attr attributes = {};
  attributes.min_rnr_timer = 1;  // 10 us.
  ModifyQueuePair(pair.right.queue_pair, &attributes, IBV_QP_MIN_RNR_TIMER);
  pair.left.Send(9);
  std::optional<ibv_wc> done;
  while (!done.has_value()) {
    pair.right.PollReceives();
    done = pair.left.PollSends();
  }
  EXPECT_EQ(done->status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(Failures, WorkBehindAFailureIsFlushed) {
  LinkedPair pair({}, kNoPatience);
  pair.left.Receive(1);
  for (uint64_t id = 9; id < 12; ++id) pair.left.Send(id, 0, 64, 0);
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, MovingToErrorFlushesInOrder) {
  LinkedPair pair;
  pair.left.Receive(1);
  pair.left.Send(9);
  ASSERT_EQ(pair.left.EnterError(), 0);
  auto sent = pair.left.PollSends();
  EXPECT_EQ(sent->wr_id, 9u);
  EXPECT_EQ(sent->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, AcceptedSendsAreNotFlushed) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.Send(8, 0, 64, 0);
  ASSERT_TRUE(pair.right.PollReceives().has_value());
  pair.left.Send(9, 0, 64, 0);  // Finds no receive.
  ASSERT_EQ(pair.left.EnterError(), 0);
  auto flushed = pair.left.PollSends();
  ASSERT_TRUE(flushed.has_value());
  EXPECT_EQ(flushed->wr_id, 9u);
  EXPECT_EQ(flushed->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, WorkPostedInErrorIsFlushed) {
  LinkedPair pair;
  pair.left.EnterError();
  EXPECT_EQ(pair.left.Send(9), 0);
  EXPECT_EQ(pair.left.Receive(1), 0);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, SendToAQueuePairInErrorIsRetryExceeded) {
  LinkedPair pair;
  pair.right.EnterError();
  pair.left.Send(9);
  pair.left.SuperviseToTheEnd();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Failures, ClosedPeerIsGivenUpWhenRetriesAreUsedUpHoweverManyTurnsThatIs) {
  LinkedPair pair({}, {.retry_count = 3, .timeout = 14});  // 268 ms.
  pair.left.Send(9);
  pair.right.DestroyQueuePair();
  for (int turn = 0; turn < 10'000; ++turn) EXPECT_FALSE(pair.left.PollSends().has_value());
  EXPECT_GE(pair.left.SuperviseToTheEnd(), milliseconds(268));
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Failures, ClosedPeerIsNotWaitedForAsLongAsASilentOne) {
  LinkedPair silent;
  silent.left.Send(9);
  EXPECT_GE(silent.left.SuperviseToTheEnd(), std::chrono::seconds(17));
  LinkedPair closed;
  closed.left.Send(9);
  closed.right.DestroyQueuePair();
  EXPECT_LE(closed.left.SuperviseToTheEnd(), milliseconds(600));
}

TEST(Failures, ClosedPeerIsGivenUpThoughTimeoutZeroIsForEver) {
  LinkedPair pair({}, {.timeout = 0});
  pair.left.Send(9);
  pair.right.DestroyQueuePair();
  EXPECT_LE(pair.left.SuperviseToTheEnd(), milliseconds(600));
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Failures, WhatWaitsBehindALongCopyTimesOutToo) {
  constexpr uint32_t kLongCopyBytes = 4 << 20;
  LinkedPair pair({.memory_bytes = kLongCopyBytes});
  pair.left.OneSided(8, IBV_WR_RDMA_READ, 0, kLongCopyBytes, pair.right.Address(0), pair.right.region->rkey);
  pair.left.Send(9);
  pair.left.SuperviseToTheEnd();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Failures, MovingToErrorWaitsForNoRetriesToAClosedPeer) {
  LinkedPair pair;
  pair.left.Send(9);
  pair.right.DestroyQueuePair();
  ASSERT_EQ(pair.left.EnterError(), 0);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, EndOfAPeerIsSeenAfterWhatItDidBeforeOnOthers) {
  TestEnd first;
  TestEnd second({.receive_queue = first.receive_queue});
  TestEnd peer_of_first;
  TestEnd peer_of_second;
  Link(first, peer_of_first);
  Link(second, peer_of_second);
  first.Receive(1);
  second.Receive(2);
  first.Send(3);  // Finds no receive.
  peer_of_second.Send(4);
  peer_of_first.EnterError();
  auto received = first.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wr_id, 2u);
  EXPECT_EQ(received->status, IBV_WC_SUCCESS);
  first.SuperviseToTheEnd();
  EXPECT_EQ(first.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(first.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, IdleSenderSurvivesThatThePeerIsGone) {
  LinkedPair pair;
  pair.right.DestroyQueuePair();
  EXPECT_FALSE(pair.left.PollSends().has_value());
  EXPECT_EQ(pair.left.State(), IBV_QPS_RTS);
}

TEST(Failures, AcceptanceOfADestroyedPeerStillCounts) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.Send(9);
  pair.right.PollReceives();
  pair.right.DestroyQueuePair();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(Failures, PostingBeforeTheLinkIsInvalid) {
  TestEnd end;
  EXPECT_EQ(end.Send(1), EINVAL);
  EXPECT_EQ(end.Receive(1), 0);
}

TEST(Failures, PeerGoneDeliversWhatArrivedBeforeItFails) {
  LinkedPair pair;
  pair.left.Receive(1);
  pair.left.Receive(2);
  pair.right.Send(5);
  pair.left.Send(8, 0, 64, 0);
  pair.left.Send(9, 0, 64, 0);
  OnPeerGone(pair.left.queue_pair);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, PeerGoneFailsAWaitingRead) {
  LinkedPair pair;
  pair.left.Send(8);
  pair.left.OneSided(9, IBV_WR_RDMA_READ, 0, 8, pair.right.Address(0), pair.right.region->rkey);
  OnPeerGone(pair.left.queue_pair);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Failures, QueuePairWithSharedReceivesRaisesLastWqeReached) {
  DropAsyncEvents();
  LinkedPair pair({.shared_receives = true});
  pair.left.EnterError();
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event->element.qp, pair.left.queue_pair);
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST(Failures, EventOfADestroyedQueuePairLeavesNothingToRead) {
  DropAsyncEvents();
  {
    LinkedPair pair({.shared_receives = true});
    ASSERT_EQ(pair.left.EnterError(), 0);
    pollfd readable = {.fd = SoftContext()->async_fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&readable, 1, 0), 1);
  }
  pollfd readable = {.fd = SoftContext()->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&readable, 1, 0), 0);
}

TEST(Failures, QueuePairWhoseOfferDidNotArriveMakesAnother) {
  TestEnd end;
  ASSERT_TRUE(MakeOffer(end.queue_pair, {}).ok());
  EXPECT_FALSE(MakeOffer(end.queue_pair, {}).ok());
  AbandonOffer(end.queue_pair);
  EXPECT_TRUE(MakeOffer(end.queue_pair, {}).ok());
}

TEST(Failures, OverrunCompletionQueueTellsAndFails) {
  DropAsyncEvents();
  LinkedPair pair({.completions_max = 2});
  for (uint64_t id = 0; id < 3; ++id) {
    pair.right.Receive(id);
    pair.left.Send(id, 0, 64, 0);
  }
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event->element.cq, pair.right.receive_queue);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  ibv_wc completion = {};
  EXPECT_LT(ibv_poll_cq(pair.right.receive_queue, 1, &completion), 0);
  EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
}

}  // namespace
}  // namespace verbena::soft
