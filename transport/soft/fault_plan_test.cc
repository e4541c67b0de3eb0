#include "transport/soft/fault_plan.h"

#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/raw_states.h"

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

TEST(FaultPlan, HeldSendCompletionsComeAfterTheReply) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kHoldSends, .operation = 1, .amount = 4}});
  pair.left.Receive(1);
  pair.right.Receive(2);
  pair.left.Send(3);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  pair.right.Send(4);
  EXPECT_EQ(pair.left.PollReceives()->wr_id, 1u);
  for (int poll = 0; poll < 3; ++poll) EXPECT_FALSE(pair.left.PollSends().has_value());
  EXPECT_EQ(pair.left.PollSends()->wr_id, 3u);
}

TEST(FaultPlan, HeldReceivesComeAfterLaterSendCompletions) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kHoldReceives, .operation = 1, .amount = 2}});
  pair.left.Receive(1);
  pair.right.Receive(2);
  pair.right.Send(4);
  pair.left.Send(3);
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->wr_id, 3u);
  EXPECT_FALSE(pair.left.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollReceives()->wr_id, 1u);
}

TEST(FaultPlan, HeldCompletionIsASuccessAlsoWhenTheQueuePairFails) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kHoldSends, .operation = 1, .amount = 100}});
  pair.right.Receive(2);
  pair.left.Send(3);
  pair.right.PollReceives();
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.left.EnterError();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(FaultPlan, RefusedReceiveIsNoMemoryOnce) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kRefuseReceive, .operation = 2}});
  EXPECT_EQ(pair.left.Receive(1), 0);
  EXPECT_EQ(pair.left.Receive(2), ENOMEM);
  EXPECT_EQ(pair.left.Receive(2), 0);
}

TEST(FaultPlan, EmptyMessageIsDroppedAndOthersAreNot) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDropEmpty}});
  for (uint64_t id = 1; id <= 2; ++id) pair.right.Receive(id);
  pair.left.Send(1, 0, 0);
  pair.left.Send(2, 0, 5);
  EXPECT_EQ(pair.right.PollReceives()->byte_len, 5u);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  for (uint64_t id = 1; id <= 2; ++id) EXPECT_EQ(pair.left.PollSends()->wr_id, id);
}

TEST(FaultPlan, TricklingMessageArrivesWhole) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kTrickle, .operation = 1, .amount = 10}});
  pair.left.Fill(0, "a message that takes four turns");
  pair.right.Receive(1, 100);
  pair.left.Send(1, 0, 31);
  int polls = 0;
  while (!pair.right.PollReceives().has_value()) {
    EXPECT_FALSE(pair.left.PollSends().has_value());
    ASSERT_LT(++polls, 10);
  }
  EXPECT_EQ(polls, 3) << "the first ten bytes were sent when it was posted";
  EXPECT_EQ(pair.right.Text(100, 31), "a message that takes four turns");
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(FaultPlan, PatientSenderWaitsForAReceiverThatIsNotReady) {
  LinkedPair pair;
  PlanFaults(pair.right.queue_pair, {{.kind = FaultKind::kNotReady, .operation = 2, .amount = 3}});
  for (uint64_t id = 1; id <= 3; ++id) pair.right.Receive(id);
  for (uint64_t id = 1; id <= 3; ++id) pair.left.Send(id);
  EXPECT_EQ(pair.right.PollReceives()->wr_id, 1u);
  for (int poll = 0; poll < 2; ++poll) EXPECT_FALSE(pair.right.PollReceives().has_value());
  for (uint64_t id = 2; id <= 3; ++id) EXPECT_EQ(pair.right.PollReceives()->wr_id, id);
}

TEST(FaultPlan, ImpatientSenderFailsAtAReceiverThatIsNotReady) {
  LinkedPair pair({}, {.rnr_retry_count = 0});
  PlanFaults(pair.right.queue_pair, {{.kind = FaultKind::kNotReady, .operation = 1, .amount = 1}});
  pair.right.Receive(1);
  pair.left.Send(1);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(FaultPlan, HoldsForTheQueuePairsNextLifeToo) {
  LinkedPair pair;
  PlanFaults(pair.right.queue_pair, {{.kind = FaultKind::kNotReady, .operation = 1, .amount = 1}});
  ASSERT_EQ(ToReset(pair.right.queue_pair), 0);
  ASSERT_EQ(ToInit(pair.right.queue_pair), 0);
  TestEnd next_peer;
  Link(next_peer, pair.right);
  pair.right.Receive(1);
  next_peer.Send(1);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  EXPECT_TRUE(pair.right.PollReceives().has_value());
}

TEST(FaultPlan, RefusedDirectAccessLeavesReadsToTheResponder) {
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseDirect, .object = 1}});
  LinkedPair pair;
  PlanFaultsOfProcess({});
  pair.right.Fill(0, "far away");
  pair.left.OneSided(1, IBV_WR_RDMA_READ, 100, 8, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.Text(100, 8), "far away");
}

TEST(FaultPlan, RefusedDirectAccessFailsALinkThatMustHaveIt) {
  OverrideOneSidedPolicy(OneSidedPolicy::kDirect);
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseDirect, .object = 2}});
  TestEnd active;
  TestEnd passive;
  PlanFaultsOfProcess({});
  auto answer = AcceptOffer(passive.queue_pair, *MakeOffer(active.queue_pair, {}), OwnCredentials(), {});
  OverrideOneSidedPolicy(std::nullopt);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(passive.State(), IBV_QPS_RTS);
}

TEST(FaultPlan, DoubleDoorbellChangesNothing) {
  LinkedPair pair;
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDoubleDoorbell}});
  for (uint64_t id = 1; id <= 5; ++id) pair.right.Receive(id);
  for (uint64_t id = 1; id <= 5; ++id) pair.left.Send(id);
  for (uint64_t id = 1; id <= 5; ++id) EXPECT_EQ(pair.right.PollReceives()->wr_id, id);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
}

TEST(FaultPlan, LastWqeEventIsLost) {
  LinkedPair pair({.shared_receives = true});
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kLoseLastWqe}});
  pair.left.EnterError();
  for (int poll = 0; poll < 100; ++poll) pair.left.PollReceives();
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST(FaultPlan, LastWqeEventIsLate) {
  LinkedPair pair({.shared_receives = true});
  PlanFaults(pair.left.queue_pair, {{.kind = FaultKind::kDelayLastWqe, .amount = 3}});
  pair.left.EnterError();
  pair.left.PollReceives();
  pair.left.PollReceives();
  EXPECT_FALSE(NextAsyncEvent().has_value());
  pair.left.PollReceives();
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
}

// An end with a shared receive queue whose limit is two, made under `faults`.
class LimitedReceives {
 public:
  explicit LimitedReceives(FaultPlan faults) {
    PlanFaultsOfProcess(std::move(faults));
    pair_.emplace(EndOptions{.shared_receives = true});
    PlanFaultsOfProcess({});
    for (uint64_t id = 1; id <= 4; ++id) pair_->left.Receive(id);
    ibv_srq_attr attributes = {.max_wr = 0, .max_sge = 0, .srq_limit = 2};
    ModifySharedReceiveQueue(pair_->left.shared, &attributes, IBV_SRQ_LIMIT);
  }
  // One more receive is taken. Whether the limit event came.
  bool EventAfterOneMore() {
    pair_->right.Send(9);
    EXPECT_TRUE(pair_->left.PollReceives().has_value());
    return NextAsyncEvent().has_value();
  }
  TestEnd& end() { return pair_->left; }

 private:
  std::optional<LinkedPair> pair_;
};

TEST(FaultPlan, SharedReceiveIsRefusedOnce) {
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseSharedReceive, .object = 1, .operation = 2}});
  TestEnd end({.shared_receives = true});
  PlanFaultsOfProcess({});
  EXPECT_EQ(end.Receive(1), 0);
  EXPECT_EQ(end.Receive(2), ENOMEM);
  EXPECT_EQ(end.Receive(2), 0);
}

TEST(FaultPlan, LimitEventIsEarlyAndNotRepeated) {
  LimitedReceives receives({{.kind = FaultKind::kEarlyLimit, .object = 1, .operation = 5}});
  receives.end().Receive(5);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(receives.EventAfterOneMore());
}

TEST(FaultPlan, LimitEventIsLost) {
  LimitedReceives receives({{.kind = FaultKind::kLoseLimit, .object = 1, .operation = 1}});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(receives.EventAfterOneMore());
}

TEST(FaultPlan, LimitEventIsLate) {
  LimitedReceives sound({});
  LimitedReceives late({{.kind = FaultKind::kDelayLimit, .object = 1, .operation = 1, .amount = 1}});
  for (LimitedReceives* each : {&sound, &late}) {
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(each->EventAfterOneMore());
  }
  EXPECT_TRUE(sound.EventAfterOneMore());
  EXPECT_FALSE(late.EventAfterOneMore());
  EXPECT_TRUE(late.EventAfterOneMore());
}

TEST(FaultPlan, OverrunLosesThatCompletionAndFailsItsQueue) {
  PlanFaultsOfProcess({{.kind = FaultKind::kOverrun, .object = 1, .operation = 2}});
  LinkedPair pair;  // The first completion queue is the left end's for sends.
  PlanFaultsOfProcess({});
  for (uint64_t id = 1; id <= 2; ++id) pair.right.Receive(id);
  for (uint64_t id = 1; id <= 2; ++id) pair.left.Send(id);
  pair.right.PollReceives();
  EXPECT_EQ(pair.left.PollSends()->wr_id, 1u);
  ibv_wc completion = {};
  EXPECT_EQ(ibv_poll_cq(pair.left.send_queue, 1, &completion), -EIO);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_FATAL);
}

TEST(FaultPlan, PortGoesDownAndUpAtPostsOfWhicheverQueuePair) {
  PlanFaultsOfProcess({{.kind = FaultKind::kPortDown, .operation = 1}, {.kind = FaultKind::kPortUp, .operation = 2}});
  LinkedPair pair;
  pair.left.Send(1);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_PORT_ERR);
  pair.right.Send(2);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_PORT_ACTIVE);
  PlanFaultsOfProcess({});
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
