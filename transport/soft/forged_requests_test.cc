// One-sided requests that no queue pair of ours would send: written into the ring by hand, beyond keys, bounds, rights
// and lengths. The responder answers none, touches nothing, and goes out of service.

#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/request_forger.h"

namespace verbena::soft {
namespace {

// The left end is the victim. All of its memory but the first and the last page is registered.
class ForgedRequests : public testing::Test {
 protected:
  ForgedRequests() {
    OverrideOneSidedPolicy(OneSidedPolicy::kResponder);
    pair_.emplace(EndOptions{.access = kFullAccess});
    OverrideOneSidedPolicy(std::nullopt);
    Lend(kFullAccess);
    memory_ = static_cast<QueuePair*>(pair_->left.queue_pair)->link_memory();
    forger_.emplace(memory_->pair());
  }
  ~ForgedRequests() override {
    DeregisterMemory(lent_);
    pair_.reset();
    while (NextAsyncEvent().has_value()) {
    }
  }

  void Lend(int access) {
    if (lent_ != nullptr) DeregisterMemory(lent_);
    TestEnd& victim = pair_->left;
    lent_ = RegisterMemory(victim.domain, victim.memory.data() + kPageBytes, kLentBytes, access);
    ASSERT_NE(lent_, nullptr);
  }

  uint64_t Lent() const { return pair_->left.Address(kPageBytes); }

  // Lets the victim look at what was forged.
  void Serve() {
    ibv_req_notify_cq(pair_->left.receive_queue, 0);
    pair_->left.Turn();
  }

  void ExpectRefused(const RequestForger::Request& request, ibv_event_type type) {
    std::vector<std::byte> before = pair_->left.memory;
    ASSERT_NE(forger_->Write(request), nullptr);
    Serve();
    EXPECT_EQ(forger_->answered_bytes(), 0u);
    EXPECT_EQ(before, pair_->left.memory);
    EXPECT_EQ(pair_->left.State(), IBV_QPS_ERR);
    auto event = NextAsyncEvent();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->event_type, type);
  }

  static constexpr size_t kLentBytes = 64 * 1024;

  std::optional<LinkedPair> pair_;
  ibv_mr* lent_ = nullptr;
  std::shared_ptr<SharedMapping> memory_;
  std::optional<RequestForger> forger_;
};

TEST_F(ForgedRequests, HonestOneIsAnswered) {
  ASSERT_NE(forger_->Write({.address = Lent(), .key = lent_->rkey}), nullptr);
  Serve();
  EXPECT_EQ(forger_->answered_bytes(), RecordBytes(sizeof(RecordHeader) + 64));
  EXPECT_EQ(pair_->left.State(), IBV_QPS_RTS);
}

TEST_F(ForgedRequests, UnknownKeyIsRefused) {
  ExpectRefused({.address = Lent(), .key = lent_->rkey ^ 1}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, KeyOfNoPlaceInTheTableIsRefused) {
  ExpectRefused({.address = Lent(), .key = UINT32_MAX}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, KeyOfAnotherDomainIsRefused) {
  TestEnd other;
  ExpectRefused({.address = other.Address(0), .key = other.region->rkey}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, ByteBeforeTheRegionIsRefused) {
  ExpectRefused({.address = Lent() - 1, .key = lent_->rkey}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, ByteBehindTheRegionIsRefused) {
  ExpectRefused({.address = Lent() + kLentBytes - 63, .key = lent_->rkey}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, LengthBeyondTheRegionIsRefused) {
  ExpectRefused({.address = Lent(), .key = lent_->rkey, .length = kMessageBytesMax}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, RangeThatWrapsAroundIsRefused) {
  ExpectRefused({.address = UINT64_MAX - 10, .key = lent_->rkey}, IBV_EVENT_QP_ACCESS_ERR);
}

// Address and length add up to an address in the region.
TEST_F(ForgedRequests, LengthThatWrapsAroundIsNoRequest) {
  ExpectRefused({.address = Lent() + 128, .key = lent_->rkey, .length = UINT64_MAX - 64}, IBV_EVENT_QP_FATAL);
}

TEST_F(ForgedRequests, WriteWithoutTheRightIsRefused) {
  Lend(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  ExpectRefused({.kind = RecordKind::kWrite, .address = Lent(), .key = lent_->rkey}, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, WriteBehindTheRegionIsRefused) {
  ExpectRefused({.kind = RecordKind::kWrite, .address = Lent() + kLentBytes - 32, .key = lent_->rkey},
                IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, AtomicBehindTheRegionIsRefused) {
  ExpectRefused(
      {.kind = RecordKind::kFetchAndAdd, .address = Lent() + kLentBytes, .key = lent_->rkey, .length = kAtomicBytes},
      IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(ForgedRequests, AtomicOnAMisalignedAddressIsRefused) {
  ExpectRefused(
      {.kind = RecordKind::kCompareAndSwap, .address = Lent() + 4, .key = lent_->rkey, .length = kAtomicBytes},
      IBV_EVENT_QP_REQ_ERR);
}

TEST_F(ForgedRequests, AtomicOfAnotherLengthIsNoRequest) {
  ExpectRefused({.kind = RecordKind::kFetchAndAdd, .address = Lent(), .key = lent_->rkey, .length = 16},
                IBV_EVENT_QP_FATAL);
}

// Behind the end of the ring stands what the victim writes itself, or nothing that it may touch.
TEST_F(ForgedRequests, RecordAcrossTheEndOfTheRingIsNoRequest) {
  RingTail& ring = memory_->pair().control.ends[1].requests_out.ring;
  const uint64_t end = RequestRing(memory_->pair(), 1).EndAfter(0);
  while (ring.tail.load() < end - kCacheLineBytes) {
    ASSERT_NE(forger_->Write({.kind = RecordKind::kWrite, .address = Lent(), .key = lent_->rkey, .length = 16}),
              nullptr);
    Serve();
  }
  const std::vector<std::byte> before = pair_->left.memory;
  std::byte* last = forger_->Write({.kind = RecordKind::kWrite, .address = Lent(), .key = lent_->rkey, .length = 16});
  ASSERT_NE(last, nullptr);
  auto& header = *reinterpret_cast<RecordHeader*>(last);
  header.payload_bytes = 16 + kCacheLineBytes;
  header.message_bytes = header.payload_bytes;
  ring.tail.store(end + kCacheLineBytes);
  Serve();
  EXPECT_EQ(before, pair_->left.memory);
  EXPECT_EQ(pair_->left.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_FATAL);
}

TEST_F(ForgedRequests, MoreReadsThanAgreedAreRefused) {
  ExpectRefused({.address = Lent(), .key = lent_->rkey, .reads_in_flight = UINT16_MAX}, IBV_EVENT_QP_REQ_ERR);
}

}  // namespace
}  // namespace verbena::soft
