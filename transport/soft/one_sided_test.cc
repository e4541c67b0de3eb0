// READ and WRITE between two queue pairs of one process, and everything that forbids them: carried out by the
// initiator, by the responder, and READs by a responder that polls, WRITEs by the initiator.

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

class OneSided : public testing::TestWithParam<OneSidedPolicy> {
 protected:
  OneSided() { OverrideOneSidedPolicy(GetParam()); }
  ~OneSided() override {
    OverrideOneSidedPolicy(std::nullopt);
    while (NextAsyncEvent().has_value()) {
    }
  }
};

ibv_wc_status ReadStatus(LinkedPair& pair, uint64_t remote, uint32_t key, uint32_t length = 64) {
  EXPECT_EQ(pair.left.OneSided(5, IBV_WR_RDMA_READ, 0, length, remote, key), 0);
  auto done = pair.AwaitSend();
  return done.has_value() ? done->status : IBV_WC_GENERAL_ERR;
}

TEST_P(OneSided, ReadFetchesRemoteBytes) {
  LinkedPair pair;
  pair.right.Fill(300, "remote");
  ASSERT_EQ(pair.left.OneSided(5, IBV_WR_RDMA_READ, 10, 6, pair.right.Address(300), pair.right.region->rkey), 0);
  auto done = pair.AwaitSend();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_SUCCESS);
  EXPECT_EQ(done->opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(done->byte_len, 6u);
  EXPECT_EQ(pair.left.Text(10, 6), "remote");
}

TEST_P(OneSided, WriteStoresIntoRemoteBytes) {
  LinkedPair pair;
  pair.left.Fill(10, "written");
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE, 10, 7, pair.right.Address(300), pair.right.region->rkey);
  auto done = pair.AwaitSend();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_SUCCESS);
  EXPECT_EQ(done->opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(pair.right.Text(300, 7), "written");
}

TEST_P(OneSided, WriteWithImmediateConsumesAReceive) {
  LinkedPair pair;
  pair.left.Fill(0, "data");
  pair.right.Receive(7, 500);
  ibv_sge segment = pair.left.Segment(0, 4);
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = 77;
  request.wr.rdma = {.remote_addr = pair.right.Address(900), .rkey = pair.right.region->rkey};
  ASSERT_EQ(pair.left.Post(request), 0);
  pair.Turn();
  auto received = pair.right.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received->byte_len, 4u);
  EXPECT_EQ(received->imm_data, 77u);
  EXPECT_EQ(pair.right.Text(900, 4), "data");
}

TEST_P(OneSided, ReadOfManySlicesIsWhole) {
  constexpr size_t kBytes = 3'500'000;
  LinkedPair pair({.memory_bytes = kBytes});
  for (size_t i = 0; i < kBytes; ++i) pair.right.memory[i] = static_cast<std::byte>(i * 7 >> 4);
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), pair.right.region->rkey, kBytes), IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.Text(0, kBytes), pair.right.Text(0, kBytes));
}

TEST_P(OneSided, ReadWaitsUntilEarlierSendsAreAccepted) {
  LinkedPair pair;
  pair.right.Fill(0, "before");
  pair.left.Send(8, 100, 5);
  pair.left.OneSided(9, IBV_WR_RDMA_READ, 0, 6, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.left.Fill(100, "after");
  pair.right.Fill(0, "after.");
  pair.right.Receive(1, 4096);
  pair.right.PollReceives();
  EXPECT_EQ(pair.AwaitSend()->wr_id, 8u);
  EXPECT_EQ(pair.AwaitSend()->wr_id, 9u);
  EXPECT_EQ(pair.left.Text(0, 6), "after.");
}

TEST_P(OneSided, UnknownKeyIsRemoteAccessError) {
  LinkedPair pair;
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), pair.right.region->rkey ^ 1), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
}

TEST_P(OneSided, KeyZeroIsRemoteAccessError) {
  LinkedPair pair;
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), 0), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, OneByteBeyondTheRegionIsRemoteAccessError) {
  LinkedPair pair;
  uint64_t last = pair.right.Address(0) + pair.right.region->length - 63;
  EXPECT_EQ(ReadStatus(pair, last, pair.right.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, LastBytesOfTheRegionAreReadable) {
  LinkedPair pair;
  uint64_t last = pair.right.Address(0) + pair.right.region->length - 64;
  EXPECT_EQ(ReadStatus(pair, last, pair.right.region->rkey), IBV_WC_SUCCESS);
}

TEST_P(OneSided, OneByteBeforeTheRegionIsRemoteAccessError) {
  LinkedPair pair;
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0) - 1, pair.right.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, AddressThatWrapsAroundIsRemoteAccessError) {
  LinkedPair pair;
  EXPECT_EQ(ReadStatus(pair, UINT64_MAX - 10, pair.right.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, RegionWithoutRemoteReadIsRemoteAccessError) {
  LinkedPair pair({.access = IBV_ACCESS_LOCAL_WRITE});
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), pair.right.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, RegionWithoutRemoteWriteRefusesWrites) {
  LinkedPair pair({.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE, 0, 8, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, QueuePairWithoutRemoteReadIsRemoteAccessError) {
  LinkedPair pair;
  ibv_qp_attr attributes = {};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(ModifyQueuePair(pair.right.queue_pair, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), pair.right.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, RegionOfAnotherDomainIsRemoteAccessError) {
  LinkedPair pair;
  TestEnd stranger;
  EXPECT_EQ(ReadStatus(pair, stranger.Address(0), stranger.region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, DeregisteredRegionIsRemoteAccessError) {
  LinkedPair pair;
  uint32_t key = pair.right.region->rkey;
  DeregisterMemory(pair.right.region);
  pair.right.region = nullptr;
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), key), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(OneSided, KeyIsNotReusedByTheNextRegistration) {
  TestEnd end;
  uint32_t key = end.region->rkey;
  DeregisterMemory(end.region);
  end.region = RegisterMemory(end.domain, end.memory.data(), end.memory.size(), kFullAccess);
  EXPECT_NE(end.region->rkey, key);
}

TEST_P(OneSided, ReadIntoAReadOnlyRegionIsLocalProtectionError) {
  LinkedPair pair({.access = IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(ReadStatus(pair, pair.right.Address(0), pair.right.region->rkey), IBV_WC_LOC_PROT_ERR);
}

TEST_P(OneSided, ReadFromAQueuePairInErrorIsRetryExceeded) {
  LinkedPair pair;
  pair.right.EnterError();
  pair.left.OneSided(5, IBV_WR_RDMA_READ, 0, 64, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.left.SuperviseToTheEnd();
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

// As soon as it is posted, such a READ is done: who posts one for each completion never finds the queue empty.
TEST(OneSidedPolicy, WhoAlwaysFindsCompletionsHearsThePeerToo) {
  LinkedPair pair;
  ASSERT_EQ(pair.left.Receive(1), 0);
  ASSERT_EQ(pair.right.Send(2), 0);
  bool heard = false;
  for (int i = 0; i < 100 && !heard; ++i) {
    pair.left.OneSided(5, IBV_WR_RDMA_READ, 0, 64, pair.right.Address(300), pair.right.region->rkey);
    ASSERT_TRUE(pair.left.PollSends().has_value());
    heard = pair.right.PollSends().has_value();
  }
  EXPECT_TRUE(heard);
}

TEST(OneSidedPolicy, UnknownNameIsRefusedInWords) {
  setenv("VERBENA_SOFT_ONE_SIDED", "sometimes", 1);
  TestEnd end;
  absl::Status status = MakeOffer(end.queue_pair, {}).status();
  unsetenv("VERBENA_SOFT_ONE_SIDED");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("sometimes"), absl::string_view::npos) << status;
}

// The kernel says who the peer is: whose memory is out of reach, or is not what the offer says, is not copied from.
TEST(OneSidedPolicy, DirectAccessToAProcessOutOfReachIsRefusedWhenLinking) {
  OverrideOneSidedPolicy(OneSidedPolicy::kDirect);
  TestEnd left;
  TestEnd right;
  ucred other_process = OwnCredentials();
  other_process.pid = getppid();
  auto answer = AcceptOffer(right.queue_pair, *MakeOffer(left.queue_pair, {}), OwnCredentials(), {});
  absl::Status linked = CompleteOffer(left.queue_pair, *std::move(answer), other_process);
  OverrideOneSidedPolicy(std::nullopt);
  EXPECT_EQ(linked.code(), absl::StatusCode::kPermissionDenied);
}

TEST_P(OneSided, RegistrationWithRemoteButNotLocalWriteIsInvalid) {
  TestEnd end;
  EXPECT_EQ(RegisterMemory(end.domain, end.memory.data(), 10, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

INSTANTIATE_TEST_SUITE_P(ByWhom, OneSided,
                         testing::Values(OneSidedPolicy::kDirect, OneSidedPolicy::kResponder, OneSidedPolicy::kAsking),
                         [](const auto& info) {
                           if (info.param == OneSidedPolicy::kDirect) return "Initiator";
                           return info.param == OneSidedPolicy::kResponder ? "Responder" : "ResponderIfItPolls";
                         });

}  // namespace
}  // namespace verbena::soft
