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

constexpr size_t kLongBytes = 1 << 20;
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
    DropAsyncEvents();
  }

  // Not polled by this: a post is no poll.
  void Read(uint32_t length) {
    ASSERT_EQ(left_.OneSided(kRead, IBV_WR_RDMA_READ, 0, length, right_.Address(0), right_.region->rkey), 0);
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
  Read(kLongBytes);
  for (size_t before = 0, turns = 0; turns < kLongBytes / kFirstPartsBytes; ++turns) {
    right_.Turn();
    ASSERT_FALSE(left_.PollSends().has_value());
    EXPECT_GT(BytesHere(), before);
    EXPECT_LE(BytesHere(), before + kFirstPartsBytes);
    before = BytesHere();
  }
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, NoMoreIsAskedForAtOnceThanThePeerAllows) {
  LinkedPair pair({.memory_bytes = kLongBytes}, {.responder_resources = 1, .initiator_depth = 1});
  ASSERT_EQ(pair.left.OneSided(kRead, IBV_WR_RDMA_READ, 0, kLongBytes, pair.right.Address(0), pair.right.region->rkey),
            0);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
}

TEST_F(AskedReads, MessagesGoBetweenTheParts) {
  Read(kLongBytes);
  left_.Fill(kMessageAt, "small");
  for (uint32_t i = 0; i < ReadAsking::kMessagesMany; ++i) {
    right_.Receive(7, kMessageAt);
    ASSERT_EQ(left_.Send(kSend, kMessageAt, 5), 0);
  }
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());  // The answers have room now.
  ASSERT_TRUE(right_.PollReceives().has_value());
  EXPECT_EQ(right_.Text(kMessageAt, 5), "small");
  EXPECT_LE(BytesHere(), kFirstPartsBytes);
  pair_.Turn(4);  // What was asked for before the messages is here.
  const size_t before = BytesHere();
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());
  EXPECT_LE(BytesHere(), before + ReadAsking::kPartsMaxNarrow * ReadAsking::kPartBytesNarrow);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kSend);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, ReadsAreAnsweredInTheirOrder) {
  for (int i = 0; i < 3; ++i) Read(kLongBytes / 4);
  Read(100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pair_.AwaitSend()->byte_len, kLongBytes / 4);
  EXPECT_EQ(pair_.AwaitSend()->byte_len, 100u);
}

TEST_F(AskedReads, PeerThatFallsAsleepIsCopiedFromWhenItHasAnswered) {
  Read(kLongBytes);
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());  // The next parts are asked for.
  ArmRight();
  EXPECT_FALSE(CompletedAlone().has_value());
  right_.Turn();
  ArmRight();
  EXPECT_EQ(CompletedAlone()->wr_id, kRead);
  EXPECT_EQ(BytesHere(), kLongBytes);
}

TEST_F(AskedReads, PeerThatIsLateIsNotAskedForAWhile) {
  Read(64);
  std::this_thread::sleep_for(2 * kAskingPatience);
  right_.Turn();
  EXPECT_EQ(left_.PollSends()->wr_id, kRead);
  for (uint32_t i = 0; i < ReadAsking::kSlicesAloneMin; ++i) {
    Read(64);
    EXPECT_EQ(CompletedAlone()->wr_id, kRead) << i;
  }
  Read(64);
  EXPECT_FALSE(CompletedAlone().has_value());
  EXPECT_EQ(pair_.AwaitSend()->wr_id, kRead);
}

TEST_F(AskedReads, KeyThatIsTakenBackBetweenThePartsIsAViolation) {
  Read(kLongBytes);
  right_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value());
  DeregisterMemory(std::exchange(right_.region, nullptr));
  EXPECT_EQ(pair_.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(right_.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_LE(BytesHere(), kFirstPartsBytes);
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
  static constexpr uint32_t kTwoParts = 2 * ReadAsking::kPartBytesMax;
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
  Read(kTwoParts);
  Answer(kRecordFirst, kTwoParts, 1);
  ExpectBroken();
}

TEST_F(ForgedAnswers, ToWhatIsNotTheOldest) {
  Read(kTwoParts);
  Answer(kRecordFirst, ReadAsking::kPartBytesMax, 2);
  ExpectBroken();
}

TEST_F(ForgedAnswers, ThatGoOnBeforeTheyBegin) {
  Read(kTwoParts);
  Answer(0, ReadAsking::kPartBytesMax, 1);
  ExpectBroken();
}

}  // namespace
}  // namespace verbena::soft
