// A SEND goes ahead of the READs in front of it: never ahead of anything else, and its completion keeps its place.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr size_t kLargeBytes = 3'500'000;  // Many turns of copying.
constexpr size_t kSmallAt = kLargeBytes;   // Behind them, for small messages.
constexpr uint64_t kRead = 1;
constexpr uint64_t kSend = 2;
constexpr uint64_t kAnotherRead = 3;

class Overtaking : public testing::Test {
 protected:
  ~Overtaking() override { DropAsyncEvents(); }

  void Read(uint64_t wr_id, size_t offset = 0, uint32_t length = kLargeBytes) {
    ASSERT_EQ(left_.OneSided(wr_id, IBV_WR_RDMA_READ, offset, length, right_.Address(0), right_.region->rkey), 0);
  }
  void Send(const std::string& text, unsigned flags = IBV_SEND_SIGNALED) {
    left_.Fill(kSmallAt, text);
    ASSERT_EQ(left_.Send(kSend, kSmallAt, static_cast<uint32_t>(text.size()), flags), 0);
  }
  // The ids of the left end's sends, in the order of their completion, all of which succeeded.
  std::vector<uint64_t> CompletedSends(size_t count) {
    std::vector<uint64_t> ids;
    while (ids.size() < count) {
      std::optional<ibv_wc> done = pair_.AwaitSend();
      if (!done.has_value()) break;
      EXPECT_EQ(done->status, IBV_WC_SUCCESS);
      ids.push_back(done->wr_id);
    }
    return ids;
  }

  LinkedPair pair_{{.memory_bytes = kLargeBytes + 300'000}, {.rnr_retry_count = 7}};
  TestEnd& left_ = pair_.left;
  TestEnd& right_ = pair_.right;
};

TEST_F(Overtaking, SendArrivesWhileALargeReadIsCopied) {
  right_.Receive(7, kSmallAt);
  Read(kRead);
  Send("small");
  ASSERT_TRUE(right_.PollReceives().has_value());
  EXPECT_EQ(right_.Text(kSmallAt, 5), "small");
  EXPECT_FALSE(left_.PollSends().has_value());
  EXPECT_EQ(CompletedSends(2), (std::vector<uint64_t>{kRead, kSend}));
}

TEST_F(Overtaking, SendThatTheEndOfTheRingCutsGoesAheadWhole) {
  // One cache line is left before the end. Many records at a time, or the ring would begin again.
  for (size_t left = kRingBytes / kCacheLineBytes - 1; left > 0;) {
    std::vector<ibv_send_wr> list(std::min<size_t>(left, 16));
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].opcode = IBV_WR_SEND;
      list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
      right_.Receive(6, kSmallAt);
    }
    ASSERT_EQ(left_.Post(list[0]), 0);
    for (size_t i = 0; i < list.size(); ++i) ASSERT_TRUE(right_.PollReceives().has_value());
    left -= list.size();
  }
  const PairMemory& memory = static_cast<QueuePair*>(left_.queue_pair)->link_memory()->pair();
  ASSERT_EQ(memory.control.ends[0].requests_out.ring.tail.load(), kRingBytes - kCacheLineBytes);
  const std::string text(100, 'x');
  right_.Receive(7, kSmallAt);
  Read(kRead);
  Send(text);
  std::optional<ibv_wc> received = right_.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->byte_len, text.size());
  EXPECT_EQ(right_.Text(kSmallAt, text.size()), text);
  EXPECT_EQ(CompletedSends(2), (std::vector<uint64_t>{kRead, kSend}));
}

TEST_F(Overtaking, InlineBytesAreTheCallersAgain) {
  right_.Receive(7, kSmallAt);
  Read(kRead);
  Send("small", IBV_SEND_SIGNALED | IBV_SEND_INLINE);
  left_.Fill(kSmallAt, "other");
  EXPECT_EQ(CompletedSends(2).size(), 2u);
  right_.PollReceives();
  EXPECT_EQ(right_.Text(kSmallAt, 5), "small");
}

TEST_F(Overtaking, ReadBehindASendStillWaitsForIt) {
  Read(kRead);
  Send("small");
  Read(kAnotherRead, 100, 6);
  right_.Fill(0, "before");
  EXPECT_EQ(CompletedSends(1), std::vector<uint64_t>{kRead});
  pair_.Turn();
  EXPECT_FALSE(left_.PollSends().has_value()) << "there is no receive yet";
  right_.Fill(0, "after.");
  right_.Receive(7, kSmallAt);
  EXPECT_EQ(CompletedSends(2), (std::vector<uint64_t>{kSend, kAnotherRead}));
  EXPECT_EQ(left_.Text(100, 6), "after.");
}

TEST_F(Overtaking, SendOfAReadThatWaitsItselfGoesAhead) {
  right_.Receive(6, kSmallAt);
  Read(kRead);
  Read(kAnotherRead);
  Send("small");
  EXPECT_TRUE(right_.PollReceives().has_value());
  EXPECT_EQ(CompletedSends(3), (std::vector<uint64_t>{kRead, kAnotherRead, kSend}));
}

TEST_F(Overtaking, FencedSendWaits) {
  right_.Receive(7, kSmallAt);
  Read(kRead);
  Send("small", IBV_SEND_SIGNALED | IBV_SEND_FENCE);
  EXPECT_FALSE(right_.PollReceives().has_value());
  EXPECT_EQ(CompletedSends(2).size(), 2u);
  EXPECT_TRUE(right_.PollReceives().has_value());
}

TEST_F(Overtaking, SendBehindAWriteWaits) {
  right_.Receive(7, kSmallAt);
  Read(kRead);
  left_.Fill(kSmallAt, "write");
  left_.OneSided(kAnotherRead, IBV_WR_RDMA_WRITE, kSmallAt, 5, right_.Address(kSmallAt + 100), right_.region->rkey);
  Send("small");
  EXPECT_FALSE(right_.PollReceives().has_value());
  EXPECT_EQ(CompletedSends(3).size(), 3u);
  EXPECT_TRUE(right_.PollReceives().has_value());
}

TEST_F(Overtaking, LongSendWaits) {
  constexpr uint32_t kLong = 200'000;  // More than the ring has room for.
  right_.Receive(7, kSmallAt, kLong);
  Read(kRead);
  ASSERT_EQ(left_.Send(kSend, kSmallAt, kLong), 0);
  right_.Turn();
  EXPECT_FALSE(right_.PollReceives().has_value());
  EXPECT_EQ(CompletedSends(2).size(), 2u);
  EXPECT_EQ(right_.PollReceives()->byte_len, kLong);
}

TEST_F(Overtaking, FullRingPutsNothingOutOfOrder) {
  constexpr uint32_t kBytes = 8000;
  constexpr uint64_t kCount = 40;  // More than the ring has room for.
  Read(kRead);
  for (uint64_t id = 0; id < kCount; ++id) ASSERT_EQ(left_.Send(100 + id, kSmallAt + id, kBytes), 0);
  for (uint64_t id = 0; id < kCount; ++id) right_.Receive(id, kSmallAt, kBytes);
  std::vector<uint64_t> done = CompletedSends(kCount + 1);
  ASSERT_EQ(done.size(), kCount + 1);
  for (uint64_t id = 0; id < kCount; ++id) {
    EXPECT_EQ(done[id + 1], 100 + id);
    EXPECT_EQ(right_.PollReceives()->wr_id, id);
  }
}

class OvertakingRefused : public testing::Test {
 protected:
  ~OvertakingRefused() override {
    OverrideOneSidedPolicy(std::nullopt);
    DropAsyncEvents();
  }

  // Nobody is ready for the SEND.
  void PostReadAndSend(LinkedPair& pair) {
    pair.left.OneSided(kRead, IBV_WR_RDMA_READ, 0, kLargeBytes, pair.right.Address(0), pair.right.region->rkey);
    pair.left.Send(kSend);
  }
  void ExpectBothToFail(LinkedPair& pair, ibv_wc_status status) {
    auto failed = pair.AwaitSend();
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->wr_id, kRead);
    EXPECT_EQ(failed->status, status);
    EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  }

  static constexpr LinkParameters kNoPatience = {.rnr_retry_count = 0};
  static constexpr EndOptions kLarge = {.memory_bytes = kLargeBytes};
};

// The READ is the oldest, and nothing completes behind a failure but as flushed.
TEST_F(OvertakingRefused, ReadFailsWithTheRefusal) {
  LinkedPair pair(kLarge, kNoPatience);
  PostReadAndSend(pair);
  ExpectBothToFail(pair, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(OvertakingRefused, ReadThatMayNoMoreBeCopiedFailsWithTheRefusalToo) {
  LinkedPair pair(kLarge, kNoPatience);
  PostReadAndSend(pair);
  DeregisterMemory(pair.right.region);
  pair.right.region = nullptr;
  ExpectBothToFail(pair, IBV_WC_RNR_RETRY_EXC_ERR);
}

// The peer takes such a READ out of the ring, in its turn.
TEST_F(OvertakingRefused, ReadThatThePeerCarriesOutIsNotOvertaken) {
  OverrideOneSidedPolicy(OneSidedPolicy::kResponder);
  LinkedPair pair(kLarge, kNoPatience);
  PostReadAndSend(pair);
  auto done = pair.AwaitSend();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->wr_id, kRead);
  EXPECT_EQ(done->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_RNR_RETRY_EXC_ERR);
}

// The first SEND waits for a receive, so the READs are not begun; the SENDs behind them are.
TEST_F(Overtaking, DrainingFinishesWhatWasOvertaken) {
  ASSERT_EQ(left_.Send(9, kSmallAt, 5), 0);
  Read(kRead, 0, 64);
  Send("small");
  Read(kAnotherRead, 0, 64);
  Send("small");
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(ModifyQueuePair(left_.queue_pair, &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  Read(10, 0, 64);
  for (uint64_t id : {5, 6}) right_.Receive(id, kSmallAt);
  EXPECT_EQ(CompletedSends(3), (std::vector<uint64_t>{9, kRead, kSend}));
  pair_.Turn();
  EXPECT_FALSE(NextAsyncEvent().has_value()) << "the last SEND is not received";
  right_.Receive(7, kSmallAt);
  EXPECT_EQ(CompletedSends(3), (std::vector<uint64_t>{kAnotherRead, kSend})) << "what was posted later waits";
  std::optional<ibv_async_event> event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_SQ_DRAINED);
}

// It is there, and is looked at with every turn, but nothing new comes.
TEST_F(Overtaking, MessageThatFindsNoReceiveDoesNotSlowACopyDown) {
  constexpr int kTurnsMax = 20;
  ASSERT_EQ(right_.Send(7, kSmallAt), 0);
  Read(kRead);
  int turns = 0;
  while (!left_.PollSends().has_value() && turns < kTurnsMax) ++turns;
  EXPECT_LT(turns, kTurnsMax);
}

}  // namespace
}  // namespace verbena::soft
