#include "transport/soft/spin_lock.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
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

// How often a thread of this process has slept so far.
uint64_t SleepsOf(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    uint64_t sleeps = 0;
    if (word == "voluntary_ctxt_switches:" && status >> sleeps) return sleeps;
  }
  ADD_FAILURE() << "the kernel does not say";
  return 0;
}

TEST(SpinLock, WaiterOutlastsAHolderThatSleeps) {
  SpinLock lock;
  bool done = false;
  std::promise<pid_t> waits;
  lock.lock();
  std::thread waiter([&] {
    waits.set_value(gettid());
    std::lock_guard guard(lock);
    EXPECT_TRUE(done);
  });
  pid_t thread = waits.get_future().get();
  uint64_t before = SleepsOf(thread);
  while (SleepsOf(thread) < before + 2 && !HasFailure()) std::this_thread::yield();  // It is past spinning.
  done = true;
  lock.unlock();
  waiter.join();
}

}  // namespace
}  // namespace verbena::soft
