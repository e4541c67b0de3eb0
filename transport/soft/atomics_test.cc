// Atomic operations between two queue pairs of one process: carried out by the initiator, and by the responder.

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

class Atomics : public testing::TestWithParam<OneSidedPolicy> {
 protected:
  Atomics() { OverrideOneSidedPolicy(GetParam()); }
  ~Atomics() override {
    OverrideOneSidedPolicy(std::nullopt);
    while (NextAsyncEvent().has_value()) {
    }
  }
};

uint64_t& WordOf(TestEnd& end, size_t offset) { return *reinterpret_cast<uint64_t*>(end.memory.data() + offset); }

ibv_send_wr Request(ibv_wr_opcode opcode, TestEnd& target, size_t offset, uint64_t operand, uint64_t swap = 0) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic = {
      .remote_addr = target.Address(offset), .compare_add = operand, .swap = swap, .rkey = target.region->rkey};
  return request;
}

int PostAtomic(TestEnd& end, ibv_send_wr request, size_t offset = 0, uint32_t length = 8) {
  ibv_sge segment = end.Segment(offset, length);
  request.sg_list = &segment;
  request.num_sge = 1;
  return end.Post(request);
}

TEST_P(Atomics, FetchAndAddAddsAndBringsWhatWasThere) {
  LinkedPair pair;
  WordOf(pair.right, 64) = 40;
  ASSERT_EQ(PostAtomic(pair.left, Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 64, 2)), 0);
  auto done = pair.AwaitSend();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_SUCCESS);
  EXPECT_EQ(done->opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(done->byte_len, 8u);
  EXPECT_EQ(WordOf(pair.left, 0), 40u);
  EXPECT_EQ(WordOf(pair.right, 64), 42u);
}

TEST_P(Atomics, CompareAndSwapSwapsWhatIsEqual) {
  LinkedPair pair;
  WordOf(pair.right, 64) = 40;
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_CMP_AND_SWP, pair.right, 64, 40, 7));
  EXPECT_EQ(pair.AwaitSend()->opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(WordOf(pair.left, 0), 40u);
  EXPECT_EQ(WordOf(pair.right, 64), 7u);
}

TEST_P(Atomics, CompareAndSwapLeavesWhatDiffers) {
  LinkedPair pair;
  WordOf(pair.right, 64) = 40;
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_CMP_AND_SWP, pair.right, 64, 41, 7));
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(WordOf(pair.left, 0), 40u);
  EXPECT_EQ(WordOf(pair.right, 64), 40u);
}

TEST_P(Atomics, MisalignedAddressIsInvalidRequest) {
  LinkedPair pair;
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 68, 2));
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_P(Atomics, LandingZoneOfAnotherLengthIsLengthError) {
  LinkedPair pair;
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 64, 2), 0, 16);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_LOC_LEN_ERR);
}

TEST_P(Atomics, RegionWithoutRemoteAtomicIsRemoteAccessError) {
  LinkedPair pair({.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE});
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 64, 2));
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
}

TEST_P(Atomics, QueuePairWithoutRemoteAtomicIsRemoteAccessError) {
  LinkedPair pair;
  ibv_qp_attr attributes = {};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  ASSERT_EQ(ModifyQueuePair(pair.right.queue_pair, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  PostAtomic(pair.left, Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 64, 2));
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
}

TEST_P(Atomics, InlineIsInvalid) {
  LinkedPair pair;
  ibv_send_wr request = Request(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.right, 64, 2);
  request.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(PostAtomic(pair.left, request), EINVAL);
}

// Two connections, one counter, each driven by a thread of its own at both ends.
TEST_P(Atomics, AdditionsOfManyAreAllCounted) {
  constexpr uint64_t kAdditions = 2000;
  constexpr size_t kPairs = 2;
  std::vector<std::unique_ptr<LinkedPair>> pairs;
  for (size_t i = 0; i < kPairs; ++i) pairs.push_back(std::make_unique<LinkedPair>());
  alignas(8) uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (auto& pair : pairs) {
    ibv_mr* region = RegisterMemory(pair->right.domain, &counter, sizeof(counter), kFullAccess);
    ASSERT_NE(region, nullptr);
    threads.emplace_back([&pair, &counter, region] {
      ibv_send_wr request = {};
      request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      request.send_flags = IBV_SEND_SIGNALED;
      request.wr.atomic = {
          .remote_addr = reinterpret_cast<uint64_t>(&counter), .compare_add = 1, .swap = 0, .rkey = region->rkey};
      for (uint64_t i = 0; i < kAdditions; ++i) {
        ASSERT_EQ(PostAtomic(pair->left, request), 0);
        ASSERT_EQ(pair->AwaitSend()->status, IBV_WC_SUCCESS);
      }
      DeregisterMemory(region);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kPairs * kAdditions);
}

INSTANTIATE_TEST_SUITE_P(ByWhom, Atomics, testing::Values(OneSidedPolicy::kDirect, OneSidedPolicy::kResponder),
                         [](const auto& info) {
                           return info.param == OneSidedPolicy::kDirect ? "Initiator" : "Responder";
                         });

}  // namespace
}  // namespace verbena::soft
