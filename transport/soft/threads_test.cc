// Both ends in one process, each driven by a thread of its own: nothing is lost, nobody sleeps for ever. Worth most
// under a race detector.

#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr int kRounds = 3000;

// The way of a program that sleeps: poll, arm, poll once more, sleep.
ibv_wc AwaitAsleep(TestEnd& end, ibv_cq* queue) {
  while (true) {
    if (auto completion = TestEnd::Poll(queue)) return *completion;
    ibv_req_notify_cq(queue, 0);
    if (auto completion = TestEnd::Poll(queue)) return *completion;
    pollfd entry = {.fd = end.channel->fd, .events = POLLIN, .revents = 0};
    poll(&entry, 1, -1);
    while (NextCompletionEvent(end.channel) != nullptr) {
    }
  }
}

void Serve(TestEnd& end, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    ibv_wc received = AwaitAsleep(end, end.receive_queue);
    ASSERT_EQ(received.status, IBV_WC_SUCCESS);
    end.Receive(received.wr_id, received.wr_id * 4096);
    ASSERT_EQ(end.Send(received.wr_id, received.wr_id * 4096, received.byte_len), 0);
    ASSERT_EQ(AwaitAsleep(end, end.send_queue).status, IBV_WC_SUCCESS);
  }
}

TEST(Threads, SleepersLoseNoWakeUp) {
  LinkedPair pair({.with_channel = true});
  for (uint64_t id = 0; id < 4; ++id) pair.right.Receive(id, id * 4096);
  std::thread server([&pair] { Serve(pair.right, kRounds); });
  for (int round = 0; round < kRounds; ++round) {
    pair.left.Receive(1, 4096);
    pair.left.memory[0] = static_cast<std::byte>(round);
    ASSERT_EQ(pair.left.Send(9, 0, static_cast<uint32_t>(1 + round % 4000), 0), 0);
    ASSERT_EQ(AwaitAsleep(pair.left, pair.left.receive_queue).status, IBV_WC_SUCCESS);
    ASSERT_EQ(pair.left.memory[4096], static_cast<std::byte>(round));
  }
  server.join();
}

TEST(Threads, LongMessagesPassWhileBothSleep) {
  LinkedPair pair({.with_channel = true, .memory_bytes = 4 << 20});
  pair.right.Receive(0, 0, 4 << 20);
  std::thread receiver([&pair] { EXPECT_EQ(AwaitAsleep(pair.right, pair.right.receive_queue).byte_len, 4u << 20); });
  pair.left.Send(9, 0, 4 << 20);
  EXPECT_EQ(AwaitAsleep(pair.left, pair.left.send_queue).status, IBV_WC_SUCCESS);
  receiver.join();
}

TEST(Threads, DeregisteredMemoryIsNotReadAnyMore) {
  LinkedPair pair;
  auto buffer = std::make_unique<std::vector<std::byte>>(1 << 20);
  ibv_mr* region = RegisterMemory(pair.right.domain, buffer->data(), buffer->size(), kFullAccess);
  std::atomic<int> reads{0};
  std::thread reader([&pair, &reads, address = reinterpret_cast<uint64_t>(buffer->data()), key = region->rkey] {
    std::optional<ibv_wc> done;
    do {
      pair.left.OneSided(1, IBV_WR_RDMA_READ, 0, 1 << 20, address, key);
      done = pair.AwaitSend();
      ASSERT_TRUE(done.has_value());
      ++reads;
    } while (done->status == IBV_WC_SUCCESS);
    EXPECT_EQ(done->status, IBV_WC_REM_ACCESS_ERR);
  });
  while (reads < 3) std::this_thread::yield();
  DeregisterMemory(region);
  buffer.reset();  // A read that still went on would be seen by a sanitizer.
  reader.join();
}

TEST(Threads, QueuePairsOfOneQueueProgressInParallelWithTheirPosters) {
  constexpr int kPairs = 4;
  std::vector<std::unique_ptr<LinkedPair>> pairs;
  for (int i = 0; i < kPairs; ++i) pairs.push_back(std::make_unique<LinkedPair>());
  std::vector<std::thread> threads;
  for (auto& pair : pairs) {
    threads.emplace_back([&pair] {
      for (uint64_t round = 0; round < kRounds; ++round) {
        pair->right.Receive(round);
        ASSERT_EQ(pair->left.Send(round), 0);
        ASSERT_TRUE(pair->right.PollReceives().has_value());
        ASSERT_TRUE(pair->left.PollSends().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace verbena::soft
