// Memory windows of type 2B: who may use their keys, and how they are bound and taken away.

#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr int kBindable = kFullAccess | IBV_ACCESS_MW_BIND;
constexpr unsigned kRead = IBV_ACCESS_REMOTE_READ;

// A window of an end, over 1,000 bytes from offset 200 of its memory.
class Window {
 public:
  explicit Window(TestEnd& end) : end_(end), window_(ibv_alloc_mw(end.domain, IBV_MW_TYPE_2)) {}
  ~Window() { Dealloc(); }

  void Dealloc() {
    if (window_ != nullptr) ibv_dealloc_mw(std::exchange(window_, nullptr));
  }

  ibv_send_wr BindRequest(unsigned access = kRead) const {
    ibv_send_wr request = {};
    request.wr_id = 21;
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_mw = {
        .mw = window_,
        .rkey = ibv_inc_rkey(window_->rkey),
        .bind_info = {.mr = end_.region, .addr = end_.Address(200), .length = 1000, .mw_access_flags = access}};
    return request;
  }

  // Posts it at `poster`; the status of its completion.
  static ibv_wc_status Run(TestEnd& poster, const ibv_send_wr& request) {
    EXPECT_EQ(poster.Post(request), 0);
    auto done = poster.PollSends();
    return done.has_value() ? done->status : IBV_WC_GENERAL_ERR;
  }

  ibv_wc_status Bind(unsigned access = kRead) { return Run(end_, BindRequest(access)); }

  ibv_wc_status Invalidate(TestEnd& poster, uint32_t key) const {
    ibv_send_wr request = {};
    request.opcode = IBV_WR_LOCAL_INV;
    request.send_flags = IBV_SEND_SIGNALED;
    request.invalidate_rkey = key;
    return Run(poster, request);
  }

  uint32_t key() const { return ibv_inc_rkey(window_->rkey); }
  ibv_mw* get() const { return window_; }

 private:
  TestEnd& end_;
  ibv_mw* window_;
};

// While the responder has its turns too: it refuses by itself what is not allowed.
ibv_wc_status ReadStatus(TestEnd& reader, TestEnd& responder, uint64_t remote, uint32_t key, uint32_t length = 64) {
  constexpr int kTurnsMax = 10;
  EXPECT_EQ(reader.OneSided(5, IBV_WR_RDMA_READ, 0, length, remote, key), 0);
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    while (auto done = reader.PollSends()) {
      if (done->wr_id == 5) return done->status;
    }
    responder.Turn();
  }
  return IBV_WC_GENERAL_ERR;
}

struct WindowPair : LinkedPair {
  WindowPair() : LinkedPair({.access = kBindable}) {}

  // Where the left end announces the key under which it copies.
  std::atomic<uint32_t>& LeftHazard() {
    auto link = static_cast<QueuePair*>(right.queue_pair)->link_memory();
    return link->pair().control.ends[0].hazard.key;
  }
};

TEST(MemoryWindows, BoundWindowLendsItsRangeToThePeer) {
  WindowPair pair;
  Window window(pair.right);
  pair.right.Fill(200, "lent");
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_SUCCESS);
  EXPECT_EQ(pair.left.Text(0, 4), "lent");
}

TEST(MemoryWindows, BindCompletesAsBind) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(pair.right.Post(window.BindRequest()), 0);
  auto done = pair.right.PollSends();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(done->wr_id, 21u);
}

TEST(MemoryWindows, BindBehindASendCompletesWhenThatIsAccepted) {
  WindowPair pair;
  Window window(pair.left);
  pair.left.Send(20, 0, 64, 0);
  ASSERT_EQ(pair.left.Post(window.BindRequest()), 0);
  EXPECT_FALSE(pair.left.PollSends().has_value());
  pair.right.Receive(1);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  auto done = pair.left.PollSends();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->wr_id, 21u);
}

TEST(MemoryWindows, ByteOutsideTheWindowIsRemoteAccessError) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(1200 - 63), window.key()), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, WriteThroughAReadWindowIsRemoteAccessError) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  pair.left.OneSided(5, IBV_WR_RDMA_WRITE, 0, 8, pair.right.Address(200), window.key());
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
}

// The point of type 2B: another connection of the same protection domain that learned the key cannot use it.
TEST(MemoryWindows, PeerOfAnotherQueuePairOfTheDomainIsRefused) {
  WindowPair pair;
  EndOptions options = {.access = kBindable, .domain = pair.right.domain};
  TestEnd second(options);
  TestEnd stranger;
  Link(stranger, second);
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(stranger, second, pair.right.Address(200), window.key()), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, UnboundWindowIsRemoteAccessError) {
  WindowPair pair;
  Window window(pair.right);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.get()->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, KeyOfAWindowIsNoLocalKey) {
  WindowPair pair;
  Window window(pair.left);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  ibv_sge segment = {.addr = pair.left.Address(200), .length = 8, .lkey = window.key()};
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  EXPECT_EQ(Window::Run(pair.left, request), IBV_WC_LOC_PROT_ERR);
}

TEST(MemoryWindows, SendPostedAfterTheBindFindsItDone) {
  WindowPair pair;
  Window window(pair.right);
  pair.left.Receive(1);
  ibv_send_wr bind = window.BindRequest();
  ibv_sge segment = pair.right.Segment(0, 8);
  ibv_send_wr send = {};
  send.opcode = IBV_WR_SEND;
  send.sg_list = &segment;
  send.num_sge = 1;
  bind.send_flags = 0;
  bind.next = &send;
  ASSERT_EQ(pair.right.Post(bind), 0);
  ASSERT_TRUE(pair.left.PollReceives().has_value());
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_SUCCESS);
}

TEST(MemoryWindows, InvalidatedWindowIsRemoteAccessError) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  ASSERT_EQ(window.Invalidate(pair.right, window.key()), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, InvalidatedWindowCanBeBoundAgainUnderAnotherKey) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  ASSERT_EQ(window.Invalidate(pair.right, window.key()), IBV_WC_SUCCESS);
  ibv_send_wr again = window.BindRequest();
  again.bind_mw.rkey = ibv_inc_rkey(window.key());
  ASSERT_EQ(Window::Run(pair.right, again), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), again.bind_mw.rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, InvalidatingARegionIsLocalProtectionError) {
  WindowPair pair;
  Window window(pair.right);
  EXPECT_EQ(window.Invalidate(pair.right, pair.right.region->rkey), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
}

TEST(MemoryWindows, InvalidatingAWindowOfAnotherQueuePairIsLocalProtectionError) {
  WindowPair pair;
  EndOptions options = {.access = kBindable, .domain = pair.right.domain};
  TestEnd second(options);
  TestEnd its_peer;
  Link(its_peer, second);
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(window.Invalidate(second, window.key()), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_SUCCESS);
}

// Invalidation waits for a copy that has begun: a hazard word that never goes away breaks the link, and only that.
TEST(MemoryWindows, InvalidationCompletesOnlyWhenThePeerCopiesNoMore) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  std::atomic<uint32_t>& hazard = pair.LeftHazard();
  hazard.store(window.key());
  EXPECT_EQ(window.Invalidate(pair.right, window.key()), IBV_WC_GENERAL_ERR) << "completed while the peer was copying";
  hazard.store(0);
  auto done = pair.right.PollSends();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->opcode, IBV_WC_LOCAL_INV);
}

int SendWithInvalidate(TestEnd& end, uint32_t key) {
  ibv_send_wr request = {};
  request.wr_id = 31;
  request.opcode = IBV_WR_SEND_WITH_INV;
  request.send_flags = IBV_SEND_SIGNALED;
  request.invalidate_rkey = key;
  return end.Post(request);
}

TEST(MemoryWindows, SendWithInvalidateTakesTheWindowAwayAndSaysSo) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  pair.right.Receive(1);
  ASSERT_EQ(SendWithInvalidate(pair.left, window.key()), 0);
  auto received = pair.right.PollReceives();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(received->invalidated_rkey, window.key());
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), window.key()), IBV_WC_REM_ACCESS_ERR);
}

TEST(MemoryWindows, SendWithInvalidateOfARegionIsRefused) {
  WindowPair pair;
  pair.right.Receive(1);
  ASSERT_EQ(SendWithInvalidate(pair.left, pair.right.region->rkey), 0);
  EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
}

struct BadBind {
  const char* what;
  int region_access;
  unsigned window_access;
  uint64_t start;
  uint64_t length;
};

class RefusedBind : public ::testing::TestWithParam<BadBind> {};

TEST_P(RefusedBind, IsBindError) {
  LinkedPair pair({.access = GetParam().region_access});
  Window window(pair.right);
  ibv_send_wr request = window.BindRequest(GetParam().window_access);
  request.bind_mw.bind_info.addr = pair.right.Address(0) + GetParam().start;
  request.bind_mw.bind_info.length = GetParam().length;
  EXPECT_EQ(Window::Run(pair.right, request), IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(pair.right.State(), IBV_QPS_ERR);
}

INSTANTIATE_TEST_SUITE_P(MemoryWindows, RefusedBind,
                         ::testing::Values(BadBind{"RegionWithoutBindAccess", kFullAccess, kRead, 0, 64},
                                           BadBind{"WritesToARegionNotWritable", IBV_ACCESS_MW_BIND,
                                                   IBV_ACCESS_REMOTE_WRITE, 0, 64},
                                           BadBind{"BeyondTheRegion", kBindable, kRead, (1 << 20) - 63, 64},
                                           BadBind{"BeforeTheRegion", kBindable, kRead, ~uint64_t{0}, 64},
                                           BadBind{"WrapsAround", kBindable, kRead, 0, ~uint64_t{0}},
                                           BadBind{"Empty", kBindable, kRead, 0, 0}),
                         [](const auto& tested) { return tested.param.what; });

TEST(MemoryWindows, BindingABoundWindowIsBindError) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(window.Bind(), IBV_WC_MW_BIND_ERR);
}

TEST(MemoryWindows, BindUnderTheNameOfAnotherWindowIsRefusedAtOnce) {
  WindowPair pair;
  Window window(pair.right);
  Window other(pair.right);
  ibv_send_wr request = window.BindRequest();
  request.bind_mw.rkey = other.key();
  EXPECT_EQ(pair.right.Post(request), EINVAL);
}

TEST(MemoryWindows, BindAcrossDomainsIsRefusedAtOnce) {
  WindowPair pair;
  Window window(pair.right);
  ibv_send_wr request = window.BindRequest();
  request.bind_mw.bind_info.mr = pair.left.region;
  EXPECT_EQ(pair.right.Post(request), EPERM);
}

TEST(MemoryWindows, BindOnAQueuePairOfAnotherDomainIsBindError) {
  WindowPair pair;
  Window window(pair.right);
  EXPECT_EQ(Window::Run(pair.left, window.BindRequest()), IBV_WC_MW_BIND_ERR);
}

TEST(MemoryWindows, RegionWithABoundWindowIsBusy) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  EXPECT_EQ(DeregisterMemory(pair.right.region), EBUSY);
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(0), pair.right.region->rkey), IBV_WC_SUCCESS);
}

TEST(MemoryWindows, DeallocatedWindowFreesItsRegion) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  uint32_t key = window.key();
  window.Dealloc();
  EXPECT_EQ(ReadStatus(pair.left, pair.right, pair.right.Address(200), key), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(DeregisterMemory(std::exchange(pair.right.region, nullptr)), 0);
}

TEST(MemoryWindows, DestroyedQueuePairFreesTheRegionOfItsWindows) {
  WindowPair pair;
  Window window(pair.right);
  ASSERT_EQ(window.Bind(), IBV_WC_SUCCESS);
  pair.right.DestroyQueuePair();
  EXPECT_EQ(DeregisterMemory(std::exchange(pair.right.region, nullptr)), 0);
}

TEST(MemoryWindows, DomainWithAWindowIsBusy) {
  ibv_context* context = SoftContext();
  ibv_pd* domain = AllocProtectionDomain(context);
  ibv_mw* window = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(DeallocProtectionDomain(domain), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
  EXPECT_EQ(DeallocProtectionDomain(domain), 0);
}

TEST(MemoryWindows, TypeOneIsNotSupported) {
  TestEnd end;
  EXPECT_EQ(ibv_alloc_mw(end.domain, IBV_MW_TYPE_1), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_alloc_mw(end.domain, static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::soft
