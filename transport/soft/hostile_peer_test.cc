// A peer that writes whatever it likes into every byte that it shares with us: its own connection fails, nobody else's
// does, and nothing crashes. Also: what a malformed offer meets.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/direct_memory.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

PairMemory& SharedMemoryOf(ibv_qp* queue_pair) { return static_cast<QueuePair*>(queue_pair)->link_memory()->pair(); }

// Atomically, as another process would: a race detector has nothing to say about processes.
void ScribbleWord(void* at, uint64_t value) { static_cast<std::atomic<uint64_t>*>(at)->store(value); }

// Words of all that a hostile end can write: control lines, rings, the ready map.
void Scribble(PairMemory& pair, const ReadyMap& ready, std::minstd_rand& random) {
  for (int i = 0; i < 40; ++i) {
    uint64_t value = random() % 3 == 0 ? random() % 1024 : uint64_t{random()} << (random() % 40);
    ScribbleWord(reinterpret_cast<uint64_t*>(&pair.control) + random() % (sizeof(PairControl) / 8), value);
    const int end = static_cast<int>(random() % 2);
    const RingBytes ring = random() % 2 == 0 ? RequestRing(pair, end) : ResponseRing(pair, end);
    ScribbleWord(reinterpret_cast<uint64_t*>(ring.at(random() % 256 * sizeof(uint64_t))), value);
    ScribbleWord(reinterpret_cast<uint64_t*>(&ready.mapping().ready()) + random() % (sizeof(ReadyMemory) / 8),
                 random() % 2 == 0 ? value : 0);
  }
}

// An end with two queue pairs on the same completion queues: one peer is honest, the other is not.
class Victim {
 public:
  Victim() {
    ibv_qp_init_attr attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = honest_.left.send_queue;
    attributes.recv_cq = honest_.left.receive_queue;
    attributes.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    EXPECT_EQ(CreateQueuePair(honest_.left.domain, &attributes, &queue_pair_), 0);
    auto answer = AcceptOffer(hostile_.queue_pair, *MakeOffer(queue_pair_, {}), OwnCredentials(), {});
    EXPECT_TRUE(CompleteOffer(queue_pair_, *std::move(answer), OwnCredentials()).ok());
  }
  ~Victim() {
    // Copies that never end are another test's: here they would be waited for a hundred times.
    for (EndControl& end : SharedMemoryOf(queue_pair_).control.ends) end.hazard.key.store(0);
    DestroyQueuePair(queue_pair_);
  }

  void SendToHostile() {
    ibv_sge segment = honest_.left.Segment(4096, 64);
    ibv_send_wr send = {};
    send.sg_list = &segment;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    ibv_post_send(queue_pair_, &send, &bad);
  }

  void LetHostileScribble(std::minstd_rand& random) {
    Scribble(SharedMemoryOf(queue_pair_), static_cast<CompletionQueue*>(honest_.left.receive_queue)->ready(), random);
  }

  // Whether a message of the honest peer arrives.
  bool HonestMessageArrives(uint64_t id) {
    honest_.left.Receive(id);
    honest_.right.Send(id, 0, 64, 0);
    ibv_req_notify_cq(honest_.left.receive_queue, 0);  // As a program does before it sleeps.
    std::optional<ibv_wc> received = honest_.left.PollReceives();
    while (received.has_value() && received->qp_num == queue_pair_->qp_num) received = honest_.left.PollReceives();
    while (honest_.left.PollSends().has_value()) {
    }
    return received.has_value() && received->status == IBV_WC_SUCCESS && received->wr_id == id;
  }

 private:
  LinkedPair honest_;
  TestEnd hostile_;
  ibv_qp* queue_pair_ = nullptr;
};

TEST(HostilePeer, ScribblingHurtsOnlyItsOwnConnection) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::minstd_rand random(seed);
    Victim victim;
    for (uint64_t round = 0; round < 20; ++round) {
      victim.SendToHostile();
      victim.LetHostileScribble(random);
      ASSERT_TRUE(victim.HonestMessageArrives(round)) << "seed " << seed;
    }
  }
  while (NextAsyncEvent().has_value()) {
  }
}

TEST(HostilePeer, ImpossibleTailPutsTheQueuePairInError) {
  LinkedPair pair;
  SharedMemoryOf(pair.left.queue_pair).control.ends[1].requests_out.ring.tail.store(1 << 30);
  pair.left.Receive(1);
  ibv_req_notify_cq(pair.left.receive_queue, 0);
  EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_FATAL);
}

TEST(HostilePeer, AcceptanceOfAMessageNeverSentPutsTheQueuePairInError) {
  LinkedPair pair;
  SharedMemoryOf(pair.left.queue_pair).control.ends[1].requests_in.accepted.store(2);
  pair.left.Send(9);
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_FATAL_ERR);
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
  EXPECT_TRUE(NextAsyncEvent().has_value());
}

TEST(HostilePeer, HazardLeftForEverDoesNotHoldUpDeregistration) {
  LinkedPair pair;
  SharedMemoryOf(pair.left.queue_pair).control.ends[1].hazard.key.store(pair.left.region->rkey);
  DeregisterMemory(pair.left.region);
  pair.left.region = nullptr;
  EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
}

TEST(HostilePeer, SeveralThatCopyForEverCostOnePatienceTogetherAndNoneLater) {
  LinkedPair pairs[3];
  std::vector<std::shared_ptr<SharedMapping>> links;
  for (LinkedPair& pair : pairs) links.push_back(static_cast<QueuePair*>(pair.left.queue_pair)->link_memory());
  auto time_deregistration = [&](ibv_mr*& region) {
    for (auto& link : links) link->pair().control.ends[1].hazard.key.store(region->rkey);
    auto before = std::chrono::steady_clock::now();
    DeregisterMemory(std::exchange(region, nullptr));
    return std::chrono::steady_clock::now() - before;
  };
  EXPECT_LT(time_deregistration(pairs[0].left.region), 2 * kHazardPatience);
  for (LinkedPair& pair : pairs) EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
  EXPECT_LT(time_deregistration(pairs[1].left.region), kHazardPatience);
}

TEST(HazardOfAPeer, HoldsUpTheDestructionOfTheQueuePair) {
  LinkedPair pair;
  auto memory = static_cast<QueuePair*>(pair.left.queue_pair)->link_memory();
  EndControl& own = memory->pair().control.ends[0];
  EndControl& peer = memory->pair().control.ends[1];
  peer.hazard.key.store(pair.left.region->rkey);
  std::atomic<bool> copied{false};
  std::thread copy([&] {
    while (own.state.closed.load() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // The last slice takes its time.
    copied = true;
    peer.hazard.key.store(0);
  });
  pair.left.DestroyQueuePair();
  EXPECT_TRUE(copied);
  copy.join();
}

TEST(HazardOfAPeer, ThatHasDiedHoldsNobodyUp) {
  const auto hazard = std::make_unique<HazardLine>();  // gcc 12's ASan puts no local variable at 64 bytes.
  hazard->key.store(1);
  pid_t process = fork();
  if (process == 0) _exit(0);
  constexpr auto kForEver = std::chrono::steady_clock::time_point::max();
  siginfo_t end;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(AwaitEndOfCopies({.process = process, .hazard = hazard.get()}, kAnyKey, kForEver));
  ASSERT_EQ(waitpid(process, nullptr, 0), process);
  EXPECT_TRUE(AwaitEndOfCopies({.process = process, .hazard = hazard.get()}, kAnyKey, kForEver));
}

TEST(HostileOffer, PublishedMemoryCannotBeMappedForWriting) {
  TestEnd end;
  auto offer = MakeOffer(end.queue_pair, {});
  ASSERT_TRUE(offer.ok());
  const UniqueFd& published = offer->fds[3];
  EXPECT_EQ(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, published.get(), 0), MAP_FAILED);
  EXPECT_EQ(pwrite(published.get(), "x", 1, 0), -1);
}

TEST(HostileOffer, OfAnotherUserIsRefused) {
  TestEnd active;
  TestEnd passive;
  ucred stranger = OwnCredentials();
  stranger.uid += 1;
  auto answer = AcceptOffer(passive.queue_pair, *MakeOffer(active.queue_pair, {}), stranger, {});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(HostileOffer, WithAnyByteCutOffIsRefused) {
  TestEnd active;
  TestEnd passive;
  LinkOffer offer = *MakeOffer(active.queue_pair, {});
  offer.bytes.pop_back();
  EXPECT_FALSE(AcceptOffer(passive.queue_pair, std::move(offer), OwnCredentials(), {}).ok());
  EXPECT_EQ(passive.State(), IBV_QPS_INIT);
}

TEST(HostileOffer, WithMemoryThatCanShrinkIsRefused) {
  TestEnd active;
  TestEnd passive;
  LinkOffer offer = *MakeOffer(active.queue_pair, {});
  UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), sizeof(PairMemory)), 0);
  offer.fds[0] = std::move(unsealed);
  EXPECT_FALSE(AcceptOffer(passive.queue_pair, std::move(offer), OwnCredentials(), {}).ok());
}

TEST(HostileOffer, ThatPassesOurOwnPublishedMemoryAsAPairIsRefused) {
  TestEnd active;
  TestEnd passive;
  LinkOffer offer = *MakeOffer(active.queue_pair, {});
  offer.fds[0] = UniqueFd(dup(offer.fds[3].get()));
  EXPECT_FALSE(AcceptOffer(passive.queue_pair, std::move(offer), OwnCredentials(), {}).ok());
}

TEST(HostileOffer, WithMissingDescriptorsIsRefused) {
  TestEnd active;
  TestEnd passive;
  LinkOffer offer = *MakeOffer(active.queue_pair, {});
  offer.fds.pop_back();
  EXPECT_FALSE(AcceptOffer(passive.queue_pair, std::move(offer), OwnCredentials(), {}).ok());
}

}  // namespace
}  // namespace verbena::soft
