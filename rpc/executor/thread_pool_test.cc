#include "rpc/executor/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

namespace verbena::rpc {
namespace {

// Keeps one thread of an executor busy until it is released.
class Blocker {
 public:
  explicit Blocker(ThreadPool& executor) {
    EXPECT_TRUE(executor.TrySubmit([this] {
      started_.count_down();
      released_.wait();
    }));
    started_.wait();
  }
  ~Blocker() { Release(); }
  void Release() {
    if (!std::exchange(is_released_, true)) released_.count_down();
  }

 private:
  std::latch started_{1};
  std::latch released_{1};
  bool is_released_ = false;
};

TEST(ThreadPool, RunsEveryTaskOnceOnItsThreads) {
  std::atomic<int> runs = 0;
  std::latch all(1000);
  ThreadPool executor(4, 1000);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(executor.TrySubmit([&] {
      ++runs;
      all.count_down();
    }));
  }
  all.wait();
  EXPECT_EQ(runs, 1000);
}

TEST(ThreadPool, TaskPastTheQueueIsRefusedAndDestroyed) {
  ThreadPool executor(1, 2);
  Blocker blocker(executor);
  EXPECT_TRUE(executor.TrySubmit([] {}));
  EXPECT_TRUE(executor.TrySubmit([] {}));
  auto held = std::make_shared<int>(0);
  EXPECT_FALSE(executor.TrySubmit([held] {}));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(executor.queued(), 2u);
  blocker.Release();
}

TEST(ThreadPool, OneThreadRunsTasksInOrder) {
  std::vector<int> order;
  std::latch all(3);
  ThreadPool executor(1, 8);
  for (int i = 0; i < 3; ++i) {
    executor.TrySubmit([&order, &all, i] {
      order.push_back(i);
      all.count_down();
    });
  }
  all.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(ThreadPool, ShutdownDropsWhatWaitsAndFinishesWhatRuns) {
  std::atomic<bool> ran_waiting = false;
  auto executor = std::make_unique<ThreadPool>(1, 2);
  Blocker blocker(*executor);
  auto held = std::make_shared<int>(0);
  executor->TrySubmit([&ran_waiting, held] { ran_waiting = true; });
  std::thread releaser([&blocker, &held] {
    while (held.use_count() > 1) std::this_thread::yield();  // Dropped: Shutdown has begun.
    blocker.Release();
  });
  executor->Shutdown();
  releaser.join();
  EXPECT_FALSE(ran_waiting);
  EXPECT_FALSE(executor->TrySubmit([] {}));
}

}  // namespace
}  // namespace verbena::rpc
