#include "transport/soft/fault_plan.h"

#include "gtest/gtest.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

TEST(FaultPlan, RefusedPostIsNoMemoryOnce) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kRefuseSend, .operation = 2}});
  EXPECT_EQ(pair.left.Send(1), 0);
  EXPECT_EQ(pair.left.Send(2), ENOMEM);
  EXPECT_EQ(pair.left.Send(2), 0);
}

TEST(FaultPlan, FailedRequestCompletesInItsTurnAndFlushesTheRest) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair,
             {{.kind = FaultKind::kFailRequest, .operation = 2, .status = IBV_WC_REM_ACCESS_ERR}});
  pair.right.Receive(1);
  for (uint64_t id = 1; id <= 3; ++id) pair.left.Send(id, 0, 64, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(FaultPlan, DelayedQueuePairCompletesAfterThatManyPolls) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDelay, .operation = 1, .amount = 3}});
  pair.left.Receive(1);
  pair.left.Send(9, 0, 64, 0);
  pair.right.Send(5);
  for (int poll = 0; poll < 3; ++poll) EXPECT_FALSE(pair.left.PollReceives().has_value());
  EXPECT_TRUE(pair.left.PollReceives().has_value());
}

TEST(FaultPlan, DelayEndsForASleeperToo) {
  LinkedPair pair({.with_channel = true});
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDelay, .operation = 1, .amount = 5}});
  pair.left.Receive(1);
  pair.left.Send(9, 0, 64, 0);
  ibv_req_notify_cq(pair.left.receive_queue, 0);
  pair.right.Send(5);
  EXPECT_EQ(NextCompletionEvent(pair.left.channel), pair.left.receive_queue);
}

TEST(FaultPlan, LostDoorbellIsMadeGoodByTheNextArming) {
  LinkedPair pair({.with_channel = true});
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kLoseDoorbell, .operation = 1}});
  pair.right.Receive(1);
  ibv_req_notify_cq(pair.right.receive_queue, 0);
  pair.right.PollReceives();
  pair.left.Send(9);
  EXPECT_EQ(NextCompletionEvent(pair.right.channel), nullptr);
  ibv_req_notify_cq(pair.right.receive_queue, 0);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
}

TEST(FaultPlan, DisconnectFailsWhatIsOutstanding) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDisconnect, .operation = 2}});
  pair.left.Send(1);
  EXPECT_EQ(pair.left.State(), IBV_QPS_RTS);
  pair.left.Send(2);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(FaultPlan, OfTheProcessBefallsTheQueuePairsMadeAfterIt) {
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseSend, .object = 2, .operation = 1}});
  LinkedPair pair;
  PlanFaultsOfProcess({});
  EXPECT_EQ(pair.left.Send(1), 0);
  EXPECT_EQ(pair.right.Send(1), ENOMEM);
}

TEST(FaultPlan, EveryRequestCompletesExactlyOnceUnderAnyPlan) {
  constexpr uint64_t kRequests = 40;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    LinkedPair pair;
    PlanFaults(pair.left.queue_pair, RandomFaultPlan({.seed = seed, .count = 6, .operations = kRequests}));
    uint64_t completed = 0;
    for (uint64_t id = 0; id < kRequests; ++id) {
      pair.right.Receive(id);
      while (pair.left.Send(id) == ENOMEM) {
      }
    }
    for (int poll = 0; poll < 20'000 && completed < kRequests; ++poll) {
      pair.right.PollReceives();
      auto sent = pair.left.PollSends();
      if (!sent.has_value()) continue;
      ASSERT_EQ(sent->wr_id, completed) << "seed " << seed;
      ++completed;
    }
    ASSERT_EQ(completed, kRequests) << "seed " << seed;
    EXPECT_FALSE(pair.left.PollSends().has_value());
  }
  while (NextAsyncEvent().has_value()) {
  }
}

}  // namespace
}  // namespace verbena::soft
