// What is particular to one-sided requests that the responder carries out: they stand in line with messages, they are
// answered one after the other, and the responder says how many it takes at once.

#include <cstring>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr size_t kMegabyte = 1 << 20;

class ResponderExecuted : public testing::Test {
 protected:
  ResponderExecuted() { OverrideOneSidedPolicy(OneSidedPolicy::kResponder); }
  ~ResponderExecuted() override {
    OverrideOneSidedPolicy(std::nullopt);
    while (NextAsyncEvent().has_value()) {
    }
  }
};

// A queue pair that sends takes no other depth: it is drained first.
void SetDepth(TestEnd& end, uint8_t as_requester, uint8_t as_responder) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.max_rd_atomic = as_requester;
  attributes.max_dest_rd_atomic = as_responder;
  ASSERT_EQ(ModifyQueuePair(end.queue_pair, &attributes, IBV_QP_STATE), 0);
  ASSERT_EQ(ModifyQueuePair(end.queue_pair, &attributes, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC), 0);
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ModifyQueuePair(end.queue_pair, &attributes, IBV_QP_STATE), 0);
}

int PostRead(LinkedPair& pair, uint64_t id, size_t offset, uint32_t length, unsigned flags = 0) {
  return pair.left.OneSided(id, IBV_WR_RDMA_READ, offset, length, pair.right.Address(offset), pair.right.region->rkey,
                            IBV_SEND_SIGNALED | flags);
}

TEST_F(ResponderExecuted, ReadWaitsForTheResponder) {
  LinkedPair pair;
  PostRead(pair, 5, 0, 64);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.Turn();
  EXPECT_EQ(pair.left.PollSends()->wr_id, 5u);
}

TEST_F(ResponderExecuted, AnswerPassesAMessageThatFindsNoReceive) {
  LinkedPair pair;
  pair.right.Send(1);  // To the left, which has no receive.
  pair.Turn();
  PostRead(pair, 5, 0, 2 * 65536);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
}

TEST_F(ResponderExecuted, ReadsBeyondTheRequestersDepthWait) {
  LinkedPair pair({}, {.responder_resources = 2, .initiator_depth = 2});
  for (uint64_t id = 0; id < 5; ++id) PostRead(pair, id, 0, 64);
  pair.right.Turn();
  EXPECT_EQ(pair.left.PollSends()->wr_id, 0u);
  EXPECT_EQ(pair.left.PollSends()->wr_id, 1u);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  for (uint64_t id = 2; id < 5; ++id) EXPECT_EQ(pair.AwaitSend()->wr_id, id);
}

TEST_F(ResponderExecuted, ReadsBeyondTheRespondersDepthAreAnInvalidRequest) {
  LinkedPair pair;
  SetDepth(pair.left, 2, 1);
  for (uint64_t id = 0; id < 2; ++id) PostRead(pair, id, 0, 64);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_REQ_ERR);
}

TEST_F(ResponderExecuted, ReadOfAQueuePairWithoutDepthIsALocalError) {
  LinkedPair pair;
  SetDepth(pair.left, 0, 1);
  PostRead(pair, 5, 0, 64);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_LOC_QP_OP_ERR);
}

// Nobody was given the table of keys, so nobody copies, and there is nothing to wait for.
TEST_F(ResponderExecuted, HazardWordIsNotHeeded) {
  LinkedPair pair;
  PairControl& control = static_cast<QueuePair*>(pair.left.queue_pair)->link_memory()->pair().control;
  control.ends[1].hazard.key.store(pair.left.region->rkey);
  EXPECT_EQ(DeregisterMemory(std::exchange(pair.left.region, nullptr)), 0);
  EXPECT_EQ(pair.left.State(), IBV_QPS_RTS) << "the peer was waited for, and given up";
}

// Else a receive would complete with as many bytes as it says, and none of them checked or written.
TEST_F(ResponderExecuted, PeerThatSaysItHasWrittenByItselfPutsTheQueuePairInError) {
  LinkedPair pair;
  pair.right.Receive(1);
  PairMemory& memory = static_cast<QueuePair*>(pair.right.queue_pair)->link_memory()->pair();
  RecordHeader header = {};
  header.kind = RecordKind::kImmediateOfWrite;
  header.flags = kRecordFirst | kRecordLast;
  header.message_bytes = kMegabyte;
  header.number = 1;
  std::memcpy(memory.request_ring(0), &header, sizeof(header));
  memory.control.ends[0].requests_out.ring.tail.store(kCacheLineBytes);
  ibv_req_notify_cq(pair.right.receive_queue, 0);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_FATAL);
}

TEST_F(ResponderExecuted, FencedSendWaitsForTheAnswerOfAnEarlierRead) {
  LinkedPair pair({.memory_bytes = 4 * kMegabyte});
  pair.right.Receive(1);
  PostRead(pair, 5, 0, 4 * kMegabyte);
  ibv_send_wr send = {};
  send.wr_id = 6;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
  ASSERT_EQ(pair.left.Post(send), 0);
  while (!pair.left.PollSends().has_value()) {
    EXPECT_FALSE(pair.right.PollReceives().has_value()) << "the fenced message came before the READ was answered";
  }
  EXPECT_EQ(pair.AwaitSend()->wr_id, 6u);
}

// So that the answer is worth waking the sender's device for, should its owner be asleep.
TEST_F(ResponderExecuted, RequestThatWaitsForAnAnswerIsHeldUpInTheEyesOfThePeer) {
  for (unsigned flags : {unsigned{IBV_SEND_FENCE}, 0u}) {
    LinkedPair pair;  // Of a depth of one READ.
    auto memory = static_cast<QueuePair*>(pair.left.queue_pair)->link_memory();
    const std::atomic<uint32_t>& held_up = memory->pair().control.ends[0].requests_out.held_up;
    PostRead(pair, 5, 0, 64);
    EXPECT_EQ(held_up.load(), 0u);
    PostRead(pair, 6, 0, 64, flags);
    EXPECT_NE(held_up.load(), 0u);
    EXPECT_EQ(pair.AwaitSend()->wr_id, 5u);
    EXPECT_EQ(pair.AwaitSend()->wr_id, 6u);
    EXPECT_EQ(held_up.load(), 0u);
  }
}

TEST_F(ResponderExecuted, WriteWithImmediateWaitsForAReceiveWithItsBytes) {
  LinkedPair pair;
  pair.left.Fill(0, "data");
  ibv_sge segment = pair.left.Segment(0, 4);
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.wr.rdma = {.remote_addr = pair.right.Address(900), .rkey = pair.right.region->rkey};
  ASSERT_EQ(pair.left.Post(request), 0);
  pair.Turn();
  EXPECT_NE(pair.right.Text(900, 4), "data");
  pair.right.Receive(7);
  EXPECT_EQ(pair.right.PollReceives()->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(pair.right.Text(900, 4), "data");
}

TEST_F(ResponderExecuted, NeitherRegionsNorCookieAreOffered) {
  TestEnd end;
  auto offer = MakeOffer(end.queue_pair, {});
  ASSERT_TRUE(offer.ok());
  EXPECT_EQ(offer->fds.size(), 5u) << "pair, queues, progress thread, two ready maps";
}

// One turn copies a bounded number of bytes, whoever copies.
TEST(LongCopies, LetOtherQueuePairsHaveTheirTurns) {
  LinkedPair pair({.memory_bytes = 8 * kMegabyte});
  PostRead(pair, 5, 0, 8 * kMegabyte);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace verbena::soft
