// Queue pairs that find each other by number, without a connection manager: within this process, and with another one,
// which is this program again.

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/device.h"
#include "transport/soft/out_of_band_message.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/testing/child_process.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/raw_states.h"

namespace verbena::soft {
namespace {

constexpr std::chrono::seconds kPatience(10);

struct RawEnd : TestEnd {
  RawEnd() : TestEnd({.unconnected = true}) {}

  int FollowTo(uint32_t peer) { return ToReadyToSend(queue_pair, peer); }
  uint32_t number() const { return queue_pair->qp_num; }
};

ibv_wc Await(ibv_cq* queue) {
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto done = TestEnd::Poll(queue)) return *done;
    sched_yield();
  }
  ibv_wc none = {};
  none.status = IBV_WC_GENERAL_ERR;
  return none;
}

// Both directions, with the bytes looked at.
void ExpectTheyTalk(TestEnd& left, TestEnd& right) {
  for (auto [from, to] : {std::pair(&left, &right), std::pair(&right, &left)}) {
    to->Receive(1, 1000);
    from->Fill(0, "hello");
    ASSERT_EQ(from->Send(2, 0, 5), 0);
    EXPECT_EQ(Await(to->receive_queue).status, IBV_WC_SUCCESS);
    EXPECT_EQ(to->Text(1000, 5), "hello");
    EXPECT_EQ(Await(from->send_queue).status, IBV_WC_SUCCESS);
  }
}

TEST(OutOfBand, QueuePairsThatNameEachOtherAreLinked) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  ExpectTheyTalk(left, right);
}

TEST(OutOfBand, NumbersDiffer) {
  RawEnd left;
  RawEnd right;
  EXPECT_NE(left.number(), right.number());
  EXPECT_GT(left.number(), 0xfffu);
  EXPECT_LT(left.number(), 1u << 24);
}

TEST(OutOfBand, SendPostedBeforeThePeerIsReadyArrivesLater) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  left.Fill(0, "early");
  ASSERT_EQ(left.Send(2, 0, 5), 0);
  EXPECT_FALSE(left.PollSends().has_value());
  ASSERT_EQ(ToInit(right.queue_pair), 0);
  right.Receive(1, 1000);
  ASSERT_EQ(ToReadyToReceive(right.queue_pair, left.number()), 0);
  EXPECT_EQ(Await(right.receive_queue).status, IBV_WC_SUCCESS) << "a queue pair receives from RTR on";
  EXPECT_EQ(right.Text(1000, 5), "early");
  EXPECT_EQ(Await(left.send_queue).status, IBV_WC_SUCCESS);
}

TEST(OutOfBand, InlineSendPostedBeforeThePeerIsReadyKeepsItsBytes) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  left.Fill(0, "first");
  ASSERT_EQ(left.Send(2, 0, 5, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
  left.Fill(0, "later");
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  right.Receive(1, 1000);
  EXPECT_EQ(Await(right.receive_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(right.Text(1000, 5), "first");
}

TEST(OutOfBand, ReadAndWriteReachThePeer) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  right.Fill(300, "remote");
  left.OneSided(5, IBV_WR_RDMA_READ, 0, 6, right.Address(300), right.region->rkey);
  EXPECT_EQ(Await(left.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(left.Text(0, 6), "remote");
}

TEST(OutOfBand, QueuePairWhosePeerNamesAnotherIsNotLinked) {
  RawEnd left;
  RawEnd right;
  RawEnd third;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(third.number()), 0);
  right.Receive(1);
  left.Send(2);
  EXPECT_FALSE(right.PollReceives().has_value());
  EXPECT_FALSE(left.PollSends().has_value());
}

// What `end` sends comes back to it.
void ExpectEcho(TestEnd& end) {
  end.Receive(1, 1000);
  end.Fill(0, "hello");
  ASSERT_EQ(end.Send(2, 0, 5), 0);
  EXPECT_EQ(Await(end.receive_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(end.Text(1000, 5), "hello");
  EXPECT_EQ(Await(end.send_queue).status, IBV_WC_SUCCESS);
}

TEST(OutOfBand, QueuePairThatNamesItselfTalksToItself) {
  RawEnd end;
  ASSERT_EQ(end.FollowTo(end.number()), 0);
  ExpectEcho(end);
}

TEST(OutOfBand, PeerInResetFailsTheNextSendOnly) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  ASSERT_EQ(ToReset(right.queue_pair), 0);
  EXPECT_FALSE(left.PollReceives().has_value());
  EXPECT_EQ(left.State(), IBV_QPS_RTS) << "a queue pair that sends nothing does not notice";
  left.Send(2);
  EXPECT_EQ(Await(left.send_queue).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(OutOfBand, DestroyedPeerFailsTheNextSendOnly) {
  RawEnd left;
  RawEnd right;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  right.DestroyQueuePair();
  EXPECT_FALSE(left.PollReceives().has_value());
  EXPECT_EQ(left.State(), IBV_QPS_RTS);
  left.Send(2);
  EXPECT_EQ(Await(left.send_queue).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(OutOfBand, AfterResetAnotherPeerCanBeFound) {
  RawEnd left;
  RawEnd right;
  RawEnd third;
  ASSERT_EQ(left.FollowTo(right.number()), 0);
  ASSERT_EQ(right.FollowTo(left.number()), 0);
  ASSERT_EQ(ToReset(left.queue_pair), 0);
  ASSERT_EQ(left.FollowTo(third.number()), 0);
  ASSERT_EQ(third.FollowTo(left.number()), 0);
  ExpectTheyTalk(left, third);
}

// --- With another process. ---

void FillReceives(TestEnd& end) {
  for (uint64_t id = 0; id < 8; ++id) end.Receive(id, id * 4096);
}

// Tells its number, hears its peer's, and sends back what comes until it is killed.
void Echo(const std::vector<std::string>&) {
  RawEnd end;
  std::cout << end.number() << std::endl;
  uint32_t peer;
  std::cin >> peer;
  if (ToInit(end.queue_pair) != 0) return;
  FillReceives(end);
  ToReadyToReceive(end.queue_pair, peer);
  ibv_qp_attr attributes = ReadyToSend();
  ModifyQueuePair(end.queue_pair, &attributes, kReadyToSendMask);
  std::cout << "ready" << std::endl;
  while (true) {
    auto received = end.PollReceives();
    if (!received.has_value()) {
      sched_yield();
      continue;
    }
    if (received->status != IBV_WC_SUCCESS) return;
    end.Receive(received->wr_id, received->wr_id * 4096);
    end.Send(received->wr_id, received->wr_id * 4096, received->byte_len, 0);
  }
}

struct EchoProcess {
  ChildProcess process{"echo"};
  uint32_t number = static_cast<uint32_t>(process.ReadNumber());

  void FollowTo(uint32_t peer) {
    process.WriteLine(std::to_string(peer));
    EXPECT_EQ(process.ReadLine(), "ready");
  }
};

TEST(OutOfBandProcess, PeerThatComesSecondIsFound) {
  EchoProcess peer;
  RawEnd end;
  ASSERT_EQ(end.FollowTo(peer.number), 0);
  peer.FollowTo(end.number());
  ExpectEcho(end);
}

TEST(OutOfBandProcess, PeerThatComesFirstIsFound) {
  EchoProcess peer;
  RawEnd end;
  peer.FollowTo(end.number());
  ASSERT_EQ(end.FollowTo(peer.number), 0);
  ExpectEcho(end);
}

// One of the two has the smaller number and makes the offer, whichever came first.
TEST(OutOfBandProcess, EitherProcessMayHaveTheSmallerNumber) {
  EchoProcess first;
  EchoProcess second;
  RawEnd to_first;
  RawEnd to_second;
  ASSERT_EQ(to_first.FollowTo(first.number), 0);
  first.FollowTo(to_first.number());
  second.FollowTo(to_second.number());
  ASSERT_EQ(to_second.FollowTo(second.number), 0);
  ExpectEcho(to_first);
  ExpectEcho(to_second);
}

TEST(OutOfBandProcess, KilledPeerFailsASend) {
  EchoProcess peer;
  RawEnd end;
  ASSERT_EQ(end.FollowTo(peer.number), 0);
  peer.FollowTo(end.number());
  ExpectEcho(end);
  peer.process.Kill();
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  ibv_wc_status status = IBV_WC_SUCCESS;
  while (status == IBV_WC_SUCCESS && std::chrono::steady_clock::now() < deadline) {
    end.Send(3);
    status = Await(end.send_queue).status;
  }
  EXPECT_EQ(status, IBV_WC_RETRY_EXC_ERR);
}

// --- A process that is up to something. ---

// Says what it is told to this program's own slot.
struct Stranger {
  explicit Stranger(uint32_t number) {
    ucred peer = {};
    EXPECT_EQ(ConnectToName("verbena-soft-qp/" + std::to_string(number / kQueuePairsMax), &socket, &peer), 0);
  }

  // True when the other side has hung up.
  bool IsHungUp() {
    auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      OfferMessage message;
      if (ReceiveOffer(socket.get(), &message) == Receipt::kEnd) return true;
      sched_yield();
    }
    return false;
  }

  UniqueFd socket;
};

class OutOfBandHostile : public ::testing::Test {
 protected:
  // A peer of another process makes the slot's thread listen.
  OutOfBandHostile() { EXPECT_EQ(waiting_.FollowTo(kElsewhere), 0); }

  static constexpr uint32_t kElsewhere = 0x2001;  // Smaller than any number here, so that this end only waits.

  RawEnd waiting_;
};

TEST_F(OutOfBandHostile, NonsenseIsHungUpOn) {
  Stranger stranger(waiting_.number());
  std::vector<std::byte> nonsense(40, std::byte{0x5a});
  ASSERT_EQ(SendPacket(stranger.socket.get(), nonsense, {}), 0);
  EXPECT_TRUE(stranger.IsHungUp());
}

TEST_F(OutOfBandHostile, OfferThatIsNoneIsHungUpOnAndTheQueuePairStays) {
  Stranger stranger(waiting_.number());
  LinkOffer offer;
  offer.bytes.resize(100, std::byte{1});
  ASSERT_EQ(SendOffer(stranger.socket.get(), OfferKind::kOffer, kElsewhere, waiting_.number(), offer), 0);
  EXPECT_TRUE(stranger.IsHungUp());
  EXPECT_EQ(waiting_.State(), IBV_QPS_RTS);
}

TEST_F(OutOfBandHostile, AnswerThatNobodyAskedForIsHungUpOn) {
  Stranger stranger(waiting_.number());
  ASSERT_EQ(SendOffer(stranger.socket.get(), OfferKind::kAnswer, kElsewhere, waiting_.number(), LinkOffer()), 0);
  EXPECT_TRUE(stranger.IsHungUp());
  EXPECT_EQ(waiting_.State(), IBV_QPS_RTS);
}

TEST_F(OutOfBandHostile, OfferForAnotherProcessIsHungUpOn) {
  Stranger stranger(waiting_.number());
  uint32_t elsewhere = waiting_.number() ^ kQueuePairsMax;
  ASSERT_EQ(SendOffer(stranger.socket.get(), OfferKind::kOffer, 0, elsewhere, LinkOffer()), 0);
  EXPECT_TRUE(stranger.IsHungUp());
}

// Of descriptors of this process; the old one comes back.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = {.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST_F(OutOfBandHostile, OldestStrangerGivesWayToTheNewcomer) {
  constexpr size_t kStrangersMax = 1024;
  DescriptorLimit room(4 * kStrangersMax);
  std::vector<Stranger> strangers;
  for (size_t i = 0; i <= kStrangersMax; ++i) strangers.emplace_back(waiting_.number());
  EXPECT_TRUE(strangers.front().IsHungUp());
  std::vector<std::byte> nonsense(40, std::byte{0x5a});
  EXPECT_EQ(SendPacket(strangers.back().socket.get(), nonsense, {}), 0) << "still listened to";
  EXPECT_TRUE(strangers.back().IsHungUp());
}

TEST_F(OutOfBandHostile, WantOfDescriptorsIsWaitedOutAtRest) {
  UniqueFd lowest_free(dup(STDIN_FILENO));
  auto limit = static_cast<rlim_t>(lowest_free.get()) + 1;
  lowest_free.Reset();
  auto none_left = std::make_unique<DescriptorLimit>(limit);
  Stranger stranger(waiting_.number());  // Takes the last one.
  clock_t before = clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(clock() - before, CLOCKS_PER_SEC / 10);
  none_left.reset();
  std::vector<std::byte> nonsense(40, std::byte{0x5a});
  ASSERT_EQ(SendPacket(stranger.socket.get(), nonsense, {}), 0);
  EXPECT_TRUE(stranger.IsHungUp());
}

}  // namespace

int RunTests(int argc, char** argv) {
  RunRoleIfChild(argc, argv, {{"echo", Echo}});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace verbena::soft

int main(int argc, char** argv) { return verbena::soft::RunTests(argc, argv); }
