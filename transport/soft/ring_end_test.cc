// Where a ring ends, what does not fit before it goes on behind: messages, one-sided requests and answers of every kind
// pass there whole, wherever the end cuts them, in either direction: the two request rings end at different positions.

#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/fault_plan.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

// Records of three cache lines, of which a ring has no whole number; so each round ends it at another place.
constexpr uint32_t kBytes = 100;
constexpr int kRounds = 4;
constexpr uint64_t kRecords = kRounds * kRingBytes / (3 * kCacheLineBytes) + 1;
static_assert(RecordBytes(RecordPrefixBytes(RecordKind::kSend) + kBytes) == 3 * kCacheLineBytes);
static_assert(RecordBytes(RecordPrefixBytes(RecordKind::kWrite) + kBytes) == 3 * kCacheLineBytes);
static_assert(RecordBytes(RecordPrefixBytes(RecordKind::kReadResponse) + kBytes) == 3 * kCacheLineBytes);
static_assert(kRingBytes % (3 * kCacheLineBytes) != 0);

constexpr size_t kTargetAt = 4096;

// The parameter: whether the pair's right end is the one that asks.
class RingEnd : public testing::TestWithParam<bool> {
 protected:
  RingEnd() {
    OverrideOneSidedPolicy(OneSidedPolicy::kResponder);
    // As wide as any; but it does not go back to its beginning when it is empty.
    PlanFaultsOfProcess({{.kind = FaultKind::kNarrowRing, .amount = kRingBytes}});
    pair_.emplace();
    PlanFaultsOfProcess({});
    OverrideOneSidedPolicy(std::nullopt);
  }

  static std::string TextOf(uint64_t id) {
    std::string text(kBytes, ' ');
    for (size_t i = 0; i < kBytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + id) % 23);
    return text;
  }

  TestEnd& asker() { return GetParam() ? pair_->right : pair_->left; }
  TestEnd& other() { return GetParam() ? pair_->left : pair_->right; }

  void OneSided(uint64_t id, ibv_wr_opcode opcode, size_t offset) {
    ASSERT_EQ(asker().OneSided(id, opcode, offset, kBytes, other().Address(kTargetAt), other().region->rkey), 0);
    std::optional<ibv_wc> done = pair_->AwaitSend(asker(), other());
    ASSERT_TRUE(done.has_value());
    ASSERT_EQ(done->status, IBV_WC_SUCCESS);
    ASSERT_EQ(done->wr_id, id);
  }

  std::optional<LinkedPair> pair_;
};

TEST_P(RingEnd, SendsPassIt) {
  for (uint64_t id = 0; id < kRecords; ++id) {
    ASSERT_EQ(other().Receive(id, kTargetAt), 0);
    asker().Fill(0, TextOf(id));
    ASSERT_EQ(asker().Send(id, 0, kBytes), 0);
    std::optional<ibv_wc> received = other().PollReceives();
    ASSERT_TRUE(received.has_value());
    ASSERT_EQ(received->byte_len, kBytes);
    ASSERT_EQ(other().Text(kTargetAt, kBytes), TextOf(id));
    ASSERT_EQ(asker().PollSends()->wr_id, id);
  }
}

TEST_P(RingEnd, WritesPassIt) {
  for (uint64_t id = 0; id < kRecords; ++id) {
    asker().Fill(0, TextOf(id));
    OneSided(id, IBV_WR_RDMA_WRITE, 0);
    ASSERT_EQ(other().Text(kTargetAt, kBytes), TextOf(id));
  }
}

TEST_P(RingEnd, AnswersToReadsPassIt) {
  for (uint64_t id = 0; id < kRecords; ++id) {
    other().Fill(kTargetAt, TextOf(id));
    OneSided(id, IBV_WR_RDMA_READ, 0);
    ASSERT_EQ(asker().Text(0, kBytes), TextOf(id));
  }
}

TEST_P(RingEnd, AnswersToAtomicsPassIt) {
  *reinterpret_cast<uint64_t*>(other().memory.data()) = 0;
  constexpr uint64_t kAtomics = kRounds * kRingBytes / kCacheLineBytes;
  for (uint64_t id = 0; id < kAtomics; ++id) {
    ibv_sge segment = asker().Segment(0, kAtomicBytes);
    ibv_send_wr request = {};
    request.wr_id = id;
    request.sg_list = &segment;
    request.num_sge = 1;
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic.remote_addr = other().Address(0);
    request.wr.atomic.rkey = other().region->rkey;
    request.wr.atomic.compare_add = 1;
    ASSERT_EQ(asker().Post(request), 0);
    ASSERT_EQ(pair_->AwaitSend(asker(), other())->status, IBV_WC_SUCCESS);
    ASSERT_EQ(*reinterpret_cast<uint64_t*>(asker().memory.data()), id);
  }
}

// The longest record before the end, and what fits in none: two pieces, or three.
TEST_P(RingEnd, LongMessagesPassIt) {
  for (uint64_t id = 0; id < 100; ++id) {
    auto bytes = static_cast<uint32_t>(kFragmentBytesMax - 200 + id * 4);
    asker().Fill(0, std::string(bytes, static_cast<char>('a' + id % 23)));
    asker().memory[bytes - 1] = static_cast<std::byte>('!');
    ASSERT_EQ(other().Receive(id, 200'000, bytes), 0);
    ASSERT_EQ(asker().Send(id, 0, bytes), 0);
    ASSERT_EQ(pair_->AwaitSend(asker(), other())->status, IBV_WC_SUCCESS);
    ASSERT_EQ(other().PollReceives()->byte_len, bytes);
    ASSERT_EQ(other().Text(200'000, bytes), asker().Text(0, bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(InBothDirections, RingEnd, testing::Bool());

}  // namespace
}  // namespace verbena::soft
