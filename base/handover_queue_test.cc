#include "base/handover_queue.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "gtest/gtest.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using Tasks = HandoverQueue<absl::AnyInvocable<void()>>;

int RunAll(Tasks& queue) {
  return queue.TakeAll([](absl::AnyInvocable<void()> task) { task(); });
}

TEST(HandoverQueue, RunsInOrderOfPushing) {
  Tasks queue;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) queue.Push([&order, i] { order.push_back(i); });
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(RunAll(queue), 100);
  EXPECT_TRUE(queue.empty());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(RunAll(queue), 0);
}

TEST(HandoverQueue, WhatATaskPushesWaitsForTheNextCall) {
  Tasks queue;
  int runs = 0;
  queue.Push([&] {
    ++runs;
    queue.Push([&runs] { ++runs; });
  });
  EXPECT_EQ(RunAll(queue), 1);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(RunAll(queue), 1);
  EXPECT_EQ(runs, 2);
}

TEST(HandoverQueue, TasksAreDestroyedInOrderOfPushing) {
  std::vector<int> order;
  Tasks queue;
  for (int i = 0; i < 20; ++i) {  // More than there are nodes kept for use again.
    const auto note = [&order, i](int* gone) {
      order.push_back(i);
      delete gone;
    };
    queue.Push([held = std::shared_ptr<int>(new int, note)] {});
  }
  queue.Clear();
  ASSERT_EQ(order.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[i], i);
}

TEST(HandoverQueue, ATaskIsGoneBeforeTheNextOneRuns) {
  Tasks queue;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = held;
  queue.Push([held = std::move(held)] {});
  queue.Push([&seen] { EXPECT_TRUE(seen.expired()); });
  EXPECT_EQ(RunAll(queue), 2);
}

// Tells by pushing once more when it is destroyed.
struct PushesAtItsEnd {
  Tasks* queue;
  std::shared_ptr<int> held;
  PushesAtItsEnd(Tasks* to, std::shared_ptr<int> what) : queue(to), held(std::move(what)) {}
  PushesAtItsEnd(PushesAtItsEnd&& other) noexcept : queue(other.queue), held(std::move(other.held)) {}
  ~PushesAtItsEnd() {
    if (held != nullptr) queue->Push([held = std::move(held)] {});
  }
  void operator()() {}
};

TEST(HandoverQueue, WhatIsLeftIsDestroyedUnrunAndWhatThatPushesToo) {
  auto held = std::make_shared<int>(0);
  {
    Tasks queue;
    bool ran = false;
    queue.Push([&ran] { ran = true; });
    queue.Push(PushesAtItsEnd(&queue, held));
    queue.Clear();
    EXPECT_FALSE(ran);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(held.use_count(), 1);
    queue.Push(PushesAtItsEnd(&queue, held));
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(HandoverQueue, ConsumerThatMakesWaySeesWhatCameMeanwhile) {
  HandoverQueue<int> queue;
  EXPECT_TRUE(queue.IsStillEmpty());
  queue.Push(1);
  EXPECT_FALSE(queue.IsStillEmpty());
  // What comes while the rest is taken is left.
  int taken = 0;
  queue.TakeAll([&](int value) {
    taken += value;
    queue.Push(2);
  });
  EXPECT_EQ(taken, 1);
  EXPECT_FALSE(queue.IsStillEmpty());
  queue.TakeAll([&](int value) { taken += value; });
  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(queue.IsStillEmpty());
}

TEST(HandoverQueue, InTheSteadyStateNothingIsAllocated) {
  for (const int burst : {1, 8, 100, 256}) {
    HandoverQueue<int> queue;
    const auto push_and_take = [&] {
      for (int i = 0; i < burst; ++i) queue.Push(i);
      EXPECT_EQ(queue.TakeAll([](int) {}), burst);
    };
    for (int i = 0; i < 10; ++i) push_and_take();
    EXPECT_EQ(testing::AllocationsOf([&] {
                for (int i = 0; i < 10; ++i) push_and_take();
              }),
              0u)
        << burst;
  }
}

// Two consumers that are never at it at once, and leave when it is still empty: nothing is left behind.
TEST(HandoverQueue, NothingIsLeftBehindByConsumersThatTryALock) {
  constexpr int kPushes = 20000;
  HandoverQueue<int> queue;
  std::mutex mu;
  std::atomic<int> taken = 0;
  const auto push_and_attend = [&] {
    for (int i = 0; i < kPushes; ++i) {
      queue.Push(1);
      do {
        const std::unique_lock lock(mu, std::try_to_lock);
        if (!lock.owns_lock()) break;
        queue.TakeAll([&](int value) { taken += value; });
      } while (!queue.IsStillEmpty());
    }
  };
  std::thread other(push_and_attend);
  push_and_attend();
  other.join();
  EXPECT_EQ(taken, 2 * kPushes);
}

// Each of several threads pushes numbers, which arrive once each and in its order.
TEST(HandoverQueue, OfManyThreadsRunsEachOncePushedInItsOrder) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 20000;
  Tasks queue;
  std::vector<int> next(kThreads, 0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kTasks; ++i) queue.Push([&next, thread, i] { EXPECT_EQ(next[thread]++, i); });
    });
  }
  std::atomic<bool> pushed = false;
  std::thread waiter([&] {
    for (std::thread& thread : threads) thread.join();
    pushed = true;
  });
  int ran = 0;
  while (!pushed) {
    const int count = RunAll(queue);
    if (count == 0) std::this_thread::yield();
    ran += count;
  }
  waiter.join();
  ran += RunAll(queue);
  EXPECT_EQ(ran, kThreads * kTasks);
  EXPECT_TRUE(queue.empty());
  for (int count : next) EXPECT_EQ(count, kTasks);
}

}  // namespace
}  // namespace verbena
