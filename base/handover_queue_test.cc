#include "base/handover_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "gtest/gtest.h"

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
