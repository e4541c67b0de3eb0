// ibv_modify_qp and ibv_query_qp: the ways between states, and what an attribute may be.

#include <cerrno>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/queue_pair_transitions.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/raw_states.h"

namespace verbena::soft {
namespace {

// An end whose queue pair ibv_create_qp made.
struct RawEnd : TestEnd {
  RawEnd() : TestEnd({.unconnected = true}) {}
};

TEST(QueuePairStates, CreatedQueuePairIsInReset) {
  RawEnd end;
  EXPECT_EQ(end.State(), IBV_QPS_RESET);
  EXPECT_EQ(end.Receive(1), EINVAL);
  EXPECT_EQ(end.Send(1), EINVAL);
}

TEST(QueuePairStates, InitTakesReceivesButNoSends) {
  RawEnd end;
  ASSERT_EQ(ToInit(end.queue_pair), 0);
  EXPECT_EQ(end.Receive(1), 0);
  EXPECT_EQ(end.Send(1), EINVAL);
}

TEST(QueuePairStates, ReadyToReceiveTakesNoSends) {
  RawEnd end;
  ASSERT_EQ(ToInit(end.queue_pair), 0);
  ASSERT_EQ(ToReadyToReceive(end.queue_pair, kNobody), 0);
  EXPECT_EQ(end.Receive(1), 0);
  EXPECT_EQ(end.Send(1), EINVAL);
}

// Which is 192.0.2.5, of a block that no host has.
TEST(QueuePairStates, PathToAnotherHostIsUnreachableAtOnce) {
  RawEnd end;
  ASSERT_EQ(ToInit(end.queue_pair), 0);
  ibv_qp_attr attributes = ReadyToReceive(end.queue_pair->qp_num);
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.grh.dgid = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 5}};
  EXPECT_EQ(ModifyQueuePair(end.queue_pair, &attributes, kReadyToReceiveMask), ENETUNREACH);
  EXPECT_EQ(end.State(), IBV_QPS_INIT);
  attributes.ah_attr.grh.dgid = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 9}};
  EXPECT_EQ(ModifyQueuePair(end.queue_pair, &attributes, kReadyToReceiveMask), 0) << "this host by another name";
}

TEST(QueuePairStates, SendWithoutAPeerWaits) {
  RawEnd end;
  ASSERT_EQ(ToReadyToSend(end.queue_pair, kNobody), 0);
  EXPECT_EQ(end.Send(1), 0);
  EXPECT_FALSE(end.PollSends().has_value());
}

TEST(QueuePairStates, ErrorFlushesSendsThatWaitForAPeer) {
  RawEnd end;
  ASSERT_EQ(ToReadyToSend(end.queue_pair, kNobody), 0);
  end.Send(1);
  end.Receive(2);
  ASSERT_EQ(end.EnterError(), 0);
  EXPECT_EQ(end.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(end.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST(QueuePairStates, ResetDropsWorkWithoutCompletions) {
  RawEnd end;
  ASSERT_EQ(ToReadyToSend(end.queue_pair, kNobody), 0);
  end.Send(1);
  end.Receive(2);
  ASSERT_EQ(ToReset(end.queue_pair), 0);
  EXPECT_FALSE(end.PollSends().has_value());
  EXPECT_FALSE(end.PollReceives().has_value());
  ASSERT_EQ(ToReadyToSend(end.queue_pair, kNobody), 0);
  ASSERT_EQ(end.EnterError(), 0);
  EXPECT_FALSE(end.PollSends().has_value()) << "work of the former life was flushed";
  EXPECT_FALSE(end.PollReceives().has_value());
}

TEST(QueuePairStates, ResetEndsALink) {
  LinkedPair pair;
  ASSERT_EQ(ToReset(pair.left.queue_pair), 0);
  EXPECT_EQ(pair.left.Query().dest_qp_num, 0u);
  pair.right.Send(5);
  pair.right.SuperviseToTheEnd();
  EXPECT_EQ(pair.right.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

TEST(QueuePairStates, ResetInvalidatesWindows) {
  LinkedPair pair({.access = kFullAccess | IBV_ACCESS_MW_BIND});
  ibv_mw* window = ibv_alloc_mw(pair.right.domain, IBV_MW_TYPE_2);
  ibv_send_wr bind = {};
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {.mw = window,
                  .rkey = ibv_inc_rkey(window->rkey),
                  .bind_info = {.mr = pair.right.region,
                                .addr = pair.right.Address(0),
                                .length = 8,
                                .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
  ASSERT_EQ(pair.right.Post(bind), 0);
  EXPECT_EQ(DeregisterMemory(pair.right.region), EBUSY);
  ASSERT_EQ(ToReset(pair.right.queue_pair), 0);
  EXPECT_EQ(DeregisterMemory(std::exchange(pair.right.region, nullptr)), 0);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST(QueuePairStates, LinkedPairCanBeResetAndLinkedAgain) {
  LinkedPair pair;
  for (TestEnd* end : {&pair.left, &pair.right}) {
    ASSERT_EQ(ToReset(end->queue_pair), 0);
    ASSERT_EQ(ToInit(end->queue_pair), 0);
  }
  Link(pair.left, pair.right);
  pair.right.Receive(1);
  pair.left.Fill(0, "again");
  pair.left.Send(2, 0, 5);
  ASSERT_TRUE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(QueuePairStates, QueryTellsWhatWasSet) {
  RawEnd end;
  ibv_qp_attr ready = ReadyToReceive(0x1234);
  ASSERT_EQ(ToInit(end.queue_pair), 0);
  ASSERT_EQ(ModifyQueuePair(end.queue_pair, &ready, kReadyToReceiveMask), 0);
  ibv_qp_attr sending = ReadyToSend();
  sending.timeout = 17;
  ASSERT_EQ(ModifyQueuePair(end.queue_pair, &sending, kReadyToSendMask), 0);
  ibv_qp_attr told = end.Query();
  EXPECT_EQ(told.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(told.cur_qp_state, IBV_QPS_RTS);
  EXPECT_EQ(told.port_num, 1);
  EXPECT_EQ(told.dest_qp_num, 0x1234u);
  EXPECT_EQ(told.path_mtu, ready.path_mtu);
  EXPECT_EQ(told.rq_psn, ready.rq_psn);
  EXPECT_EQ(told.min_rnr_timer, ready.min_rnr_timer);
  EXPECT_EQ(told.max_dest_rd_atomic, ready.max_dest_rd_atomic);
  EXPECT_EQ(told.sq_psn, sending.sq_psn);
  EXPECT_EQ(told.max_rd_atomic, sending.max_rd_atomic);
  EXPECT_EQ(told.timeout, 17);
  EXPECT_EQ(told.retry_cnt, sending.retry_cnt);
  EXPECT_EQ(told.rnr_retry, sending.rnr_retry);
  EXPECT_EQ(told.cap.max_send_wr, 64u);
}

int ToDrained(ibv_qp* queue_pair, bool notify) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = notify ? 1 : 0;
  return ModifyQueuePair(queue_pair, &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

int BackToSending(ibv_qp* queue_pair) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  return ModifyQueuePair(queue_pair, &attributes, IBV_QP_STATE);
}

TEST(QueuePairStates, DrainWaitsForWhatIsBegunAndHoldsTheRest) {
  LinkedPair pair;
  DropAsyncEvents();
  pair.left.Send(1);
  ASSERT_EQ(ToDrained(pair.left.queue_pair, true), 0);
  pair.left.Send(2);
  EXPECT_EQ(pair.left.Query().sq_draining, 1);
  EXPECT_FALSE(NextAsyncEvent().has_value());
  pair.right.Receive(11);
  pair.right.Receive(12);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->wr_id, 1u);
  EXPECT_EQ(pair.left.Query().sq_draining, 0);
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(event->element.qp, pair.left.queue_pair);
  EXPECT_FALSE(pair.right.PollReceives().has_value()) << "sent while drained";
  ASSERT_EQ(BackToSending(pair.left.queue_pair), 0);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->wr_id, 2u);
  EXPECT_FALSE(NextAsyncEvent().has_value()) << "told twice";
}

TEST(QueuePairStates, DrainOfAnIdleQueueIsToldAtOnceAndOnlyIfAskedFor) {
  LinkedPair pair;
  DropAsyncEvents();
  ASSERT_EQ(ToDrained(pair.left.queue_pair, true), 0);
  EXPECT_TRUE(NextAsyncEvent().has_value());
  ASSERT_EQ(ToDrained(pair.right.queue_pair, false), 0);
  EXPECT_FALSE(NextAsyncEvent().has_value());
}

TEST(QueuePairStates, DrainOfAcceptedSendsThatNobodyAskedAboutIsToldAtOnce) {
  LinkedPair pair;
  DropAsyncEvents();
  pair.right.Receive(1);
  pair.left.Send(2, 0, 64, 0);
  ASSERT_TRUE(pair.right.PollReceives().has_value());
  ASSERT_EQ(ToDrained(pair.left.queue_pair, true), 0);
  EXPECT_EQ(pair.left.Query().sq_draining, 0);
  EXPECT_TRUE(NextAsyncEvent().has_value());
}

TEST(QueuePairStates, DrainIsToldWhenTheLastSendIsAcceptedThoughNobodyAskedAboutIt) {
  LinkedPair pair;
  pair.Turn();  // Nothing of the linking is left to be done.
  DropAsyncEvents();
  pair.left.Send(2, 0, 64, 0);
  ASSERT_EQ(ToDrained(pair.left.queue_pair, true), 0);
  EXPECT_FALSE(NextAsyncEvent().has_value());
  pair.right.Receive(1);
  ASSERT_TRUE(pair.right.PollReceives().has_value());
  pair.left.Turn();
  EXPECT_TRUE(NextAsyncEvent().has_value());
}

TEST(QueuePairStates, DrainedQueuePairReceives) {
  LinkedPair pair;
  ASSERT_EQ(ToDrained(pair.right.queue_pair, false), 0);
  pair.right.Receive(1);
  pair.left.Send(2);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
}

TEST(QueuePairStates, RefusedModifyChangesNothing) {
  RawEnd end;
  ASSERT_EQ(ToInit(end.queue_pair), 0);
  ibv_qp_attr wrong = ReadyToReceive(0x1234);
  wrong.min_rnr_timer = 32;
  EXPECT_EQ(ModifyQueuePair(end.queue_pair, &wrong, kReadyToReceiveMask), EINVAL);
  EXPECT_EQ(end.State(), IBV_QPS_INIT);
  EXPECT_EQ(end.Query().dest_qp_num, 0u);
}

TEST(QueuePairStates, WrongCurrentStateIsInvalid) {
  LinkedPair pair;
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.cur_qp_state = IBV_QPS_SQD;
  EXPECT_EQ(ModifyQueuePair(pair.left.queue_pair, &attributes, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
  attributes.cur_qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ModifyQueuePair(pair.left.queue_pair, &attributes, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

TEST(QueuePairTransitions, AnyRequiredAttributeLeftOutIsRefused) {
  for (int bit = 1; bit != 0 && bit <= IBV_QP_DEST_QPN; bit <<= 1) {
    if (bit == IBV_QP_STATE) continue;
    if ((kInitMask & bit) != 0) {
      EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RESET, IBV_QPS_INIT, kInitMask & ~bit)) << bit;
    }
    if ((kReadyToReceiveMask & bit) != 0) {
      EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_INIT, IBV_QPS_RTR, kReadyToReceiveMask & ~bit)) << bit;
    }
    if ((kReadyToSendMask & bit) != 0) {
      EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTR, IBV_QPS_RTS, kReadyToSendMask & ~bit)) << bit;
    }
  }
}

TEST(QueuePairTransitions, AttributeThatDoesNotBelongIsRefused) {
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RESET, IBV_QPS_INIT, kInitMask | IBV_QP_DEST_QPN));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_TIMEOUT));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_CAP));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RESET, IBV_QPS_INIT, kInitMask | IBV_QP_QKEY));
}

TEST(QueuePairTransitions, OnlyTheListedWaysExist) {
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RESET, IBV_QPS_RTR, kReadyToReceiveMask));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_INIT, IBV_QPS_RTS, kReadyToSendMask));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_ERR, IBV_QPS_RTS, IBV_QP_STATE));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTS, IBV_QPS_SQE, IBV_QP_STATE));
  EXPECT_FALSE(TransitionIsAllowed(IBV_QPS_RTR, IBV_QPS_SQD, IBV_QP_STATE));
  for (ibv_qp_state from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    EXPECT_TRUE(TransitionIsAllowed(from, IBV_QPS_RESET, IBV_QP_STATE));
    EXPECT_TRUE(TransitionIsAllowed(from, IBV_QPS_ERR, IBV_QP_STATE));
  }
}

struct BadValue {
  int mask;
  void (*spoil)(ibv_qp_attr&);
};

TEST(QueuePairTransitions, ValuesBeyondTheDeviceAreInvalid) {
  const BadValue bad_values[] = {
      {IBV_QP_PORT, [](ibv_qp_attr& a) { a.port_num = 2; }},
      {IBV_QP_PORT, [](ibv_qp_attr& a) { a.port_num = 0; }},
      {IBV_QP_PKEY_INDEX, [](ibv_qp_attr& a) { a.pkey_index = 1; }},
      {IBV_QP_PATH_MTU, [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(0); }},
      {IBV_QP_PATH_MTU, [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }},
      {IBV_QP_DEST_QPN, [](ibv_qp_attr& a) { a.dest_qp_num = 1 << 24; }},
      {IBV_QP_TIMEOUT, [](ibv_qp_attr& a) { a.timeout = 32; }},
      {IBV_QP_RETRY_CNT, [](ibv_qp_attr& a) { a.retry_cnt = 8; }},
      {IBV_QP_RNR_RETRY, [](ibv_qp_attr& a) { a.rnr_retry = 8; }},
      {IBV_QP_MAX_QP_RD_ATOMIC, [](ibv_qp_attr& a) { a.max_rd_atomic = 129; }},
      {IBV_QP_MAX_DEST_RD_ATOMIC, [](ibv_qp_attr& a) { a.max_dest_rd_atomic = 129; }},
      {IBV_QP_ACCESS_FLAGS, [](ibv_qp_attr& a) { a.qp_access_flags = IBV_ACCESS_ON_DEMAND; }},
      {IBV_QP_AV, [](ibv_qp_attr& a) { a.ah_attr.is_global = 1, a.ah_attr.grh.sgid_index = 9; }},
      {IBV_QP_AV, [](ibv_qp_attr& a) { a.ah_attr.port_num = 2; }},
      {IBV_QP_PATH_MIG_STATE, [](ibv_qp_attr& a) { a.path_mig_state = IBV_MIG_REARM; }},
  };
  for (const BadValue& bad : bad_values) {
    ibv_qp_attr attributes = {};
    bad.spoil(attributes);
    EXPECT_FALSE(AttributesAreValid(attributes, bad.mask, 9, AllProfiles()[0])) << bad.mask;
    EXPECT_TRUE(AttributesAreValid(attributes, 0, 9, AllProfiles()[0])) << "what the mask does not name does not count";
  }
}

}  // namespace
}  // namespace verbena::soft
