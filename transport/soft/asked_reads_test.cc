// READs that the requester could copy by itself and asks of the peer, because that polls: what is asked for, what goes
// between, and who goes on when the peer polls no more.

#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/read_asking.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr size_t kLongBytes = 32 * ReadAsking::kPartBytesMax;
constexpr size_t kMessageAt = kLongBytes;
constexpr uint64_t kRead = 5;
constexpr uint64_t kSend = 6;
constexpr size_t kFirstPartsBytes = ReadAsking::kPartsMax * ReadAsking::kPartBytesMax;

class AskedReads : public testing::Test {
 protected:
  AskedReads() {
    for (size_t i = 0; i < kLongBytes; ++i) right_.memory[i] = static_cast<std::byte>(1 + i % 251);
  }
  ~AskedReads() override {
    OverrideOneSidedPolicy(std::nullopt);
    OverridePatienceWhenAsking(std::chrono::hours(1));
    DropAsyncEvents();
  }

  // Not polled by this: a post is no poll.
  void Read(uint32_t length, uint64_t wr_id = kRead) {
    ASSERT_EQ(left_.OneSided(wr_id, IBV_WR_RDMA_READ, 0, length, right_.Address(0), right_.region->rkey), 0);
  }
  // The first parts of a long READ are here, the next ones asked for.
  void ReadFirstParts() {
    Read(kLongBytes);
    right_.Turn();
    ASSERT_FALSE(left_.PollSends().has_value());
    ASSERT_EQ(BytesHere(), kFirstPartsBytes);
  }
  // How many of the READ's bytes are here; every one of them as it is at the peer.
  size_t BytesHere() const {
    size_t count = 0;
    while (count < kLongBytes && left_.memory[count] == right_.memory[count]) ++count;
    return count;
  }
  // The left end goes on without the right one's help.
  std::optional<ibv_wc> CompletedAlone() {
    for (int i = 0; i < 1000; ++i) {
      if (auto done = left_.PollSends()) return done;
    }
    return std::nullopt;
  }
  void ArmRight() { ibv_req_notify_cq(right_.receive_queue, 0); }

  struct Asking {
    Asking() { OverrideOneSidedPolicy(OneSidedPolicy::kAsking); }
  } asking_;
  LinkedPair pair_{{.memory_bytes = kLongBytes + 4096},
                   {.responder_resources = 16, .initiator_depth = 16, .rnr_retry_count = 7}};
  TestEnd& left_ = pair_.left;
  TestEnd& right_ = pair_.right;
};

TEST_F(AskedReads, PeerThatPollsIsAsked) {
  Read(64);
  EXPECT_FALSE(CompletedAlone().has_value());
  right_.Turn();
  EXPECT_EQ(left_.PollSends()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), 64u);
}

TEST_F(AskedReads, PeerThatSleepsIsCopiedFrom) {
  ArmRight();
  Read(64);
  EXPECT_EQ(CompletedAlone()->wr_id, kRead);
}

TEST_F(AskedReads, WhoIsAboutToSleepCopies) {
  ibv_req_notify_cq(left_.send_queue, 0);
  Read(64);
  EXPECT_EQ(CompletedAlone()->wr_id, kRead);
}

TEST_F(AskedReads, LongReadIsAskedForInParts) {
  ReadFirstParts();
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());
  EXPECT_EQ(BytesHere(), 2 * kFirstPartsBytes);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, NoMoreIsAskedForAtOnceThanThePeerAllows) {
  LinkedPair pair({.memory_bytes = kLongBytes}, {.responder_resources = 1, .initiator_depth = 1});
  pair.left.OneSided(kRead, IBV_WR_RDMA_READ, 0, kLongBytes, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
}

TEST_F(AskedReads, WhoMayHaveNoneOnTheirWayCopies) {
  LinkedPair pair({}, {.responder_resources = 0, .initiator_depth = 0});
  pair.left.OneSided(kRead, IBV_WR_RDMA_READ, 0, 64, pair.right.Address(0), pair.right.region->rkey);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST_F(AskedReads, MessageArrivesBehindThePartsThatWereAskedFor) {
  right_.Receive(7, kMessageAt);
  Read(kLongBytes);
  left_.Fill(kMessageAt, "small");
  ASSERT_EQ(left_.Send(kSend, kMessageAt, 5), 0);
  ASSERT_TRUE(right_.PollReceives().has_value()) << "though the requester has not looked";
  EXPECT_EQ(right_.Text(kMessageAt, 5), "small");
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kSend);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, WhileManyMessagesGoAheadPartsAreFewAndShort) {
  ReadFirstParts();
  for (uint32_t i = 0; i < ReadAsking::kMessagesMany; ++i) {
    right_.Receive(7, kMessageAt);
    ASSERT_EQ(left_.Send(kSend, kMessageAt, 5), 0);
  }
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());
  size_t before = BytesHere();
  EXPECT_EQ(before, 2 * kFirstPartsBytes);  // These were asked for before.
  while (BytesHere() == before) pair_.Turn(1);
  before = BytesHere();
  for (int turn = 0; turn < 10; ++turn) {
    pair_.Turn(1);
    EXPECT_LE(BytesHere(), before + ReadAsking::kPartsMaxNarrow * ReadAsking::kPartBytesNarrow);
    before = BytesHere();
  }
}

// As on a NIC: the READ is before it, and must not wait for what it waits for.
TEST_F(AskedReads, MessageWithoutAReceiveDoesNotHoldUpTheRead) {
  Read(kLongBytes);
  ASSERT_EQ(left_.Send(kSend, kMessageAt, 5), 0);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_FALSE(pair_.left.PollSends().has_value());
  right_.Receive(7, kMessageAt);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kSend);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, FencedReadWaitsForEarlierOnesAndNotForItsOwnParts) {
  Read(64);
  ASSERT_EQ(left_.OneSided(kSend, IBV_WR_RDMA_READ, 0, kLongBytes, right_.Address(0), right_.region->rkey,
                           IBV_SEND_SIGNALED | IBV_SEND_FENCE),
            0);
  right_.Turn();
  EXPECT_EQ(left_.PollSends()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), 64u);
  for (size_t parts = 1; parts <= 2; ++parts) {
    right_.Turn();
    EXPECT_FALSE(left_.PollSends().has_value());
    EXPECT_EQ(BytesHere(), parts * kFirstPartsBytes);
  }
}

TEST_F(AskedReads, ReadsAreAnsweredInTheirOrder) {
  for (uint64_t i = 1; i <= 3; ++i) {
    const size_t at = (3 - i) * 100'000;  // Each reads another place into the same one.
    ASSERT_EQ(left_.OneSided(i, IBV_WR_RDMA_READ, 0, 100'000, right_.Address(at), right_.region->rkey), 0);
  }
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(pair_.AwaitSend()->wr_id, i);
  EXPECT_EQ(BytesHere(), 100'000u);
}

TEST_F(AskedReads, AtomicBetweenTwoReadsIsDoneInItsTurn) {
  Read(kLongBytes / 2, 1);
  ibv_sge segment = left_.Segment(kMessageAt, 8);
  ibv_send_wr atomic = {};
  atomic.wr_id = 2;
  atomic.sg_list = &segment;
  atomic.num_sge = 1;
  atomic.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  atomic.send_flags = IBV_SEND_SIGNALED;
  atomic.wr.atomic = {.remote_addr = right_.Address(0), .compare_add = 1, .swap = 0, .rkey = right_.region->rkey};
  ASSERT_EQ(left_.Post(atomic), 0);
  Read(kLongBytes, 3);
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(pair_.AwaitSend()->wr_id, i);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, PeerThatFallsAsleepIsCopiedFromWhenItHasAnswered) {
  ReadFirstParts();
  ArmRight();
  EXPECT_FALSE(CompletedAlone().has_value());
  right_.Turn();
  ArmRight();
  EXPECT_EQ(CompletedAlone()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, PeerThatIsLateIsNotAskedForAWhile) {
  OverridePatienceWhenAsking(std::chrono::milliseconds(1));
  LinkedPair pair;
  auto read = [&pair] {
    pair.left.OneSided(kRead, IBV_WR_RDMA_READ, 0, 64, pair.right.Address(0), pair.right.region->rkey);
  };
  read();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (uint32_t i = 0; i < ReadAsking::kLooksMin; ++i) EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.Turn();
  EXPECT_TRUE(pair.left.PollSends().has_value());
  read();
  EXPECT_TRUE(pair.left.PollSends().has_value()) << "without the peer";
}

TEST_F(AskedReads, DrainWaitsForTheWholeRead) {
  ReadFirstParts();
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_SQD;
  ASSERT_EQ(ModifyQueuePair(left_.queue_pair, &attributes, IBV_QP_STATE), 0);
  Read(64, kSend);
  EXPECT_NE(left_.Query().sq_draining, 0);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(left_.Query().sq_draining, 0);
  EXPECT_FALSE(CompletedAlone().has_value());
}

TEST_F(AskedReads, KeyThatIsTakenBackBetweenThePartsIsAViolation) {
  ReadFirstParts();
  DeregisterMemory(std::exchange(right_.region, nullptr));
  EXPECT_EQ(pair_.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(right_.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(BytesHere(), kFirstPartsBytes);
}

TEST_F(AskedReads, SoIsOneThatIsTakenBackWhenThePeerSleeps) {
  ReadFirstParts();
  right_.Turn();
  ArmRight();
  DeregisterMemory(std::exchange(right_.region, nullptr));
  EXPECT_EQ(pair_.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(right_.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(AskedReads, MessageRefusedWhileAReadIsAskedForFailsTheRead) {
  Read(kLongBytes);
  ASSERT_EQ(left_.Send(kSend, 0, 8192), 0);
  right_.Receive(7, kMessageAt, 64);  // Too short for it.
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(left_.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(left_.State(), IBV_QPS_ERR);
}

TEST_F(AskedReads, PeerThatDiesIsGivenUp) {
  Read(kLongBytes);
  right_.EnterError();
  EXPECT_FALSE(CompletedAlone().has_value());
  left_.SuperviseToTheEnd();
  EXPECT_EQ(left_.PollSends()->status, IBV_WC_RETRY_EXC_ERR);
}

// An answer that cannot be, written into the ring as a peer that misbehaves might.
class ForgedAnswers : public AskedReads {
 protected:
  void Answer(uint8_t flags, uint64_t message_bytes, uint64_t number) {
    RecordHeader header = {};
    header.flags = flags;
    header.message_bytes = message_bytes;
    header.number = number;
    auto memory = static_cast<QueuePair*>(left_.queue_pair)->link_memory();
    header.kind = RecordKind::kReadResponse;
    header.payload_bytes = 64;
    std::memcpy(memory->pair().response_rings[1], &header, sizeof(header));
    memory->pair().control.ends[1].responses_out.ring.tail.store(RecordBytes(sizeof(header) + 64));
    ibv_req_notify_cq(left_.send_queue, 0);  // The next poll looks though nobody marked anything.
  }
  void ExpectBroken() {
    EXPECT_EQ(CompletedAlone()->status, IBV_WC_FATAL_ERR);
    EXPECT_EQ(left_.State(), IBV_QPS_ERR);
    EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_FATAL);
  }
  static constexpr uint32_t kThreeParts = 3 * ReadAsking::kPartBytesMax;
};

TEST_F(ForgedAnswers, OfMoreThanWasAskedFor) {
  Read(64);
  Answer(kRecordFirst, 128, 1);
  ExpectBroken();
}

TEST_F(ForgedAnswers, OfLessThanTheLastPart) {
  Read(128);
  Answer(kRecordFirst | kRecordLast, 64, 1);
  ExpectBroken();
}

TEST_F(ForgedAnswers, ThatLeaveNothingForTheNextPart) {
  Read(kThreeParts);
  Answer(kRecordFirst, kThreeParts, 1);
  ExpectBroken();
}

TEST_F(ForgedAnswers, ToWhatIsNotTheOldest) {
  Read(kThreeParts);
  Answer(kRecordFirst, ReadAsking::kPartBytesMax, 3);
  ExpectBroken();
}

TEST_F(ForgedAnswers, ThatGoOnBeforeTheyBegin) {
  Read(kThreeParts);
  Answer(0, ReadAsking::kPartBytesMax, 1);
  ExpectBroken();
}

}  // namespace
}  // namespace verbena::soft
