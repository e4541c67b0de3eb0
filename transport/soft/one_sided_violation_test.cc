// A one-sided request that the responder's rights forbid ends both queue pairs, whoever carries such requests out: the
// initiator's with an error completion, the responder's with an event.

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr size_t kMegabyte = 1 << 20;

class OneSidedViolation : public testing::TestWithParam<OneSidedPolicy> {
 protected:
  OneSidedViolation() { OverrideOneSidedPolicy(GetParam()); }
  ~OneSidedViolation() override {
    OverrideOneSidedPolicy(std::nullopt);
    while (NextAsyncEvent().has_value()) {
    }
  }

  // The oldest request of the left end fails so, and the right end goes out of service with this event.
  static void ExpectRefusal(LinkedPair& pair, ibv_wc_status status = IBV_WC_REM_ACCESS_ERR,
                            ibv_event_type type = IBV_EVENT_QP_ACCESS_ERR) {
    auto done = pair.AwaitSend();
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->status, status);
    EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
    EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
    auto event = NextAsyncEvent();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->event_type, type);
    EXPECT_EQ(event->element.qp, pair.right.queue_pair);
    EXPECT_FALSE(NextAsyncEvent().has_value());
  }

  static int Read(LinkedPair& pair, uint64_t id, uint32_t length, uint32_t key) {
    return pair.left.OneSided(id, IBV_WR_RDMA_READ, 0, length, pair.right.Address(0), key);
  }
};

TEST_P(OneSidedViolation, ReadUnderAnUnknownKeyEndsTheResponder) {
  LinkedPair pair;
  pair.right.Receive(1);
  Read(pair, 5, 64, pair.right.region->rkey ^ 1);
  ExpectRefusal(pair);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST_P(OneSidedViolation, WriteBeyondTheRegionEndsTheResponderAndStoresNothing) {
  LinkedPair pair;
  pair.left.Fill(0, "beyond");
  uint64_t last = pair.right.Address(0) + pair.right.region->length - 5;
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE, 0, 6, last, pair.right.region->rkey);
  ExpectRefusal(pair);
  EXPECT_EQ(pair.right.memory.back(), std::byte{0});
}

TEST_P(OneSidedViolation, WriteOfManyRecordsEndsTheResponder) {
  LinkedPair pair({.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE, 0, kMegabyte, pair.right.Address(0), pair.right.region->rkey);
  ExpectRefusal(pair);
}

TEST_P(OneSidedViolation, AtomicWithoutTheRightEndsTheResponder) {
  LinkedPair pair({.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  pair.left.OneSided(5, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0, 0);
  ExpectRefusal(pair);
}

TEST_P(OneSidedViolation, AtomicOnAMisalignedAddressIsAnInvalidRequestAtTheResponder) {
  LinkedPair pair;
  ibv_sge segment = pair.left.Segment(0, 8);
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.wr.atomic = {
      .remote_addr = pair.right.Address(4), .compare_add = 1, .swap = 0, .rkey = pair.right.region->rkey};
  ASSERT_EQ(pair.left.Post(request), 0);
  ExpectRefusal(pair, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

TEST_P(OneSidedViolation, ReadOfNothingNeedsTheQueuePairsLeave) {
  LinkedPair pair;
  ibv_qp_attr attributes = {};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(ModifyQueuePair(pair.right.queue_pair, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  Read(pair, 5, 0, 0);
  ExpectRefusal(pair);
}

TEST_P(OneSidedViolation, RefusedReadLeavesThoseBeforeItIntactAndFlushesThoseBehind) {
  LinkedPair pair({}, {.responder_resources = 4, .initiator_depth = 4});
  pair.right.Fill(0, "before");
  Read(pair, 4, 6, pair.right.region->rkey);
  Read(pair, 5, 64, 0);
  Read(pair, 6, 6, pair.right.region->rkey);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.Text(0, 6), "before");
  ExpectRefusal(pair);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_WR_FLUSH_ERR);
}

TEST_P(OneSidedViolation, KeyTakenAwayInTheMiddleOfAReadEndsTheResponder) {
  LinkedPair pair({.memory_bytes = 8 * kMegabyte});
  Read(pair, 5, 8 * kMegabyte, pair.right.region->rkey);
  pair.right.Turn();
  DeregisterMemory(pair.right.region);
  pair.right.region = nullptr;
  ExpectRefusal(pair);
}

TEST_P(OneSidedViolation, WriteWithImmediateThatIsRefusedUsesUpNoReceive) {
  LinkedPair pair;
  pair.right.Receive(1);
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 64, pair.right.Address(0), 0);
  ExpectRefusal(pair);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
}

INSTANTIATE_TEST_SUITE_P(ByWhom, OneSidedViolation,
                         testing::Values(OneSidedPolicy::kDirect, OneSidedPolicy::kResponder, OneSidedPolicy::kAsking),
                         [](const auto& info) {
                           if (info.param == OneSidedPolicy::kDirect) return "Initiator";
                           return info.param == OneSidedPolicy::kResponder ? "Responder" : "ResponderIfItPolls";
                         });

}  // namespace
}  // namespace verbena::soft
