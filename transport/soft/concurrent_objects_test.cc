// Many threads on one device, on objects of their own and on shared ones, making, using and destroying them at once.
// Worth most under a race detector. Runs with and without the device's own thread.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 30;

void InThreads(const std::function<void(int thread)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// The device's thread may be at it too, so that the first poll finds nothing yet.
ibv_wc Await(ibv_cq* queue) {
  while (true) {
    if (auto completion = TestEnd::Poll(queue)) return *completion;
  }
}

TEST(ConcurrentObjects, OfEachThreadAreMadeUsedAndDestroyed) {
  InThreads([](int) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      LinkedPair pair({.shared_receives = round % 2 == 0, .with_channel = round % 3 == 0});
      pair.right.Receive(round);
      ASSERT_EQ(pair.left.Send(round), 0);
      ASSERT_EQ(Await(pair.right.receive_queue).status, IBV_WC_SUCCESS);
      ASSERT_EQ(Await(pair.left.send_queue).status, IBV_WC_SUCCESS);
    }
  });
}

// A queue pair of its own on the queues of somebody else.
class Guest {
 public:
  explicit Guest(TestEnd& host) {
    ibv_qp_init_attr attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = host.send_queue;
    attributes.recv_cq = host.receive_queue;
    attributes.srq = host.shared;
    attributes.cap = {.max_send_wr = 8, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    EXPECT_EQ(CreateQueuePair(host.domain, &attributes, &queue_pair_), 0);
    auto answer = AcceptOffer(peer_.queue_pair, *MakeOffer(queue_pair_, {}), OwnCredentials(), {});
    EXPECT_TRUE(CompleteOffer(queue_pair_, *std::move(answer), OwnCredentials()).ok());
  }
  ~Guest() { DestroyQueuePair(queue_pair_); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  TestEnd& peer() { return peer_; }

 private:
  TestEnd peer_;
  ibv_qp* queue_pair_ = nullptr;
};

// Threads bring queue pairs to one completion queue and one shared receive queue and take them away, while another
// polls and posts receives.
TEST(ConcurrentObjects, QueuePairsComeAndGoAtSharedQueues) {
  TestEnd host({.shared_receives = true, .receives_max = 1024, .completions_max = 4096});
  for (uint64_t id = 0; id < 256; ++id) host.Receive(id, 0, 64);
  std::atomic<bool> stop{false};
  std::atomic<int> received{0};
  std::thread poller([&] {
    while (!stop) {
      auto completion = host.PollReceives();
      if (!completion.has_value()) {
        std::this_thread::yield();
        continue;
      }
      if (completion->status == IBV_WC_SUCCESS) ++received;
      host.Receive(completion->wr_id, 0, 64);
    }
  });
  InThreads([&](int) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      Guest guest(host);
      ASSERT_EQ(guest.peer().Send(round, 0, 32), 0);
      ASSERT_EQ(Await(guest.peer().send_queue).status, IBV_WC_SUCCESS);
    }
  });
  stop = true;
  poller.join();
  while (host.PollReceives().has_value()) ++received;
  EXPECT_EQ(received, kThreads * kRounds);
  while (NextAsyncEvent().has_value()) {
  }
}

TEST(ConcurrentObjects, OneQueuePairTakesTheRequestsOfManyThreadsEachOnce) {
  constexpr uint64_t kEach = 200;
  LinkedPair pair({.sends_max = 1024, .receives_max = 1024, .completions_max = 2048});
  for (uint64_t id = 0; id < kThreads * kEach; ++id) pair.right.Receive(id);
  std::vector<std::atomic<int>> completed(kThreads * kEach);
  std::atomic<uint64_t> total{0};
  InThreads([&](int thread) {
    for (uint64_t i = 0; i < kEach; ++i) {
      ASSERT_EQ(pair.left.Send(static_cast<uint64_t>(thread) * kEach + i), 0);
      pair.right.PollReceives();
      if (auto sent = pair.left.PollSends()) {
        ++completed[sent->wr_id];
        ++total;
      }
    }
  });
  while (total < kThreads * kEach) {
    pair.right.PollReceives();
    if (auto sent = pair.left.PollSends()) {
      ++completed[sent->wr_id];
      ++total;
    }
  }
  for (const std::atomic<int>& each : completed) EXPECT_EQ(each, 1);
}

TEST(ConcurrentObjects, MemoryComesAndGoesWhileOthersReadTheirs) {
  LinkedPair pair;
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      pair.left.OneSided(1, IBV_WR_RDMA_READ, 0, 4096, pair.right.Address(8192), pair.right.region->rkey);
      auto done = pair.left.PollSends();
      ASSERT_TRUE(done.has_value() && done->status == IBV_WC_SUCCESS);
    }
  });
  InThreads([&](int) {
    std::vector<std::byte> buffer(8192);
    for (int round = 0; round < 20 * kRounds; ++round) {
      ibv_mr* region = RegisterMemory(pair.right.domain, buffer.data(), buffer.size(), kFullAccess);
      ASSERT_NE(region, nullptr);
      ASSERT_EQ(DeregisterMemory(region), 0);
    }
  });
  stop = true;
  reader.join();
}

TEST(ConcurrentObjects, QueuePairIsFailedByManyThreadsAtOnce) {
  for (int round = 0; round < kRounds; ++round) {
    LinkedPair pair;
    pair.left.Receive(1);
    InThreads([&](int thread) {
      if (thread == 0) OnPeerGone(pair.left.queue_pair);
      if (thread == 1) pair.left.EnterError();
      if (thread == 2) pair.left.Send(1);
      if (thread == 3) pair.right.EnterError();
    });
    EXPECT_EQ(pair.left.State(), IBV_QPS_ERR);
    EXPECT_EQ(pair.left.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
  }
  while (NextAsyncEvent().has_value()) {
  }
}

}  // namespace
}  // namespace verbena::soft
