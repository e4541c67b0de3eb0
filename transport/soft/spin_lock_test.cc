#include "transport/soft/spin_lock.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

TEST(SpinLock, KeepsThreadsApart) {
  constexpr int kThreads = 4;
  constexpr uint64_t kTurns = 20'000;
  SpinLock lock;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTurns);
}

TEST(SpinLock, IsNotTakenByTryingWhileItIsHeld) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinLock, WaiterOutlastsAHolderThatSleeps) {
  SpinLock lock;
  bool done = false;
  lock.lock();
  std::thread waiter([&] {
    std::lock_guard guard(lock);
    EXPECT_TRUE(done);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // Past spinning and yielding, mostly.
  done = true;
  lock.unlock();
  waiter.join();
}

}  // namespace
}  // namespace verbena::soft
