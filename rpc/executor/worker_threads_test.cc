#include "rpc/executor/worker_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <latch>
#include <memory>
#include <thread>

#include "tests/few_threads/few_threads.h"

namespace verbena::rpc {
namespace {

TEST(WorkerThreads, OneWakeIsWorkUntilThereIsNone) {
  constexpr int kPieces = 100;
  std::atomic<int> left = kPieces;
  std::latch found_none(1);
  WorkerThreads threads(3, [&] {
    if (left.fetch_sub(1) > 0) return true;
    found_none.count_down();
    return false;
  });
  threads.Wake();
  found_none.wait();
  EXPECT_EQ(left, -1);  // And nobody else has looked.
}

TEST(WorkerThreads, EachWakeIsOneMoreThread) {
  std::latch all_work(3);
  WorkerThreads threads(3, [&all_work, first = std::make_shared<std::atomic<int>>(3)] {
    if (first->fetch_sub(1) <= 0) return false;
    all_work.arrive_and_wait();  // None comes back before three are here.
    return true;
  });
  for (int i = 0; i < 3; ++i) threads.Wake();  // At once: not all sleep yet.
  all_work.wait();
}

TEST(WorkerThreads, ShutdownWaitsForWhatRunsAndNothingBeginsAfterIt) {
  std::atomic<int> begun = 0;
  std::atomic<bool> ended = false;
  std::latch started(1);
  std::latch released(1);
  WorkerThreads threads(1, [&] {
    ++begun;
    started.count_down();
    released.wait();
    ended = true;
    return true;
  });
  for (int i = 0; i < 5; ++i) threads.Wake();
  started.wait();
  std::thread releaser([&] { released.count_down(); });
  threads.Shutdown();
  EXPECT_TRUE(ended);
  const int at_shutdown = begun;
  threads.Wake();
  EXPECT_EQ(begun, at_shutdown);
  releaser.join();
}

TEST(WorkerThreads, WhereTheSystemHasNotSoManyThereAreNoneAndTheStatusSaysSo) {
  if (!kThreadsCanBeFew) GTEST_SKIP();
  const auto start_too_many = [] {
    LeaveFewThreads();
    WorkerThreads threads(64, [] { return false; });
    fputs(threads.status().ToString().c_str(), stderr);
    threads.Wake();  // Nobody.
  };
  EXPECT_EXIT((start_too_many(), _exit(0)), testing::ExitedWithCode(0),
              "RESOURCE_EXHAUSTED: no thread for worker ([2-9]|[1-9][0-9]) of 64: ");
}

}  // namespace
}  // namespace verbena::rpc
