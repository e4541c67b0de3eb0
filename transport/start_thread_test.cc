#include "transport/start_thread.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "gtest/gtest.h"
#include "tests/few_threads/few_threads.h"

namespace verbena {
namespace {

TEST(StartThread, ItRuns) {
  std::atomic<bool> ran = false;
  absl::StatusOr<std::thread> thread = StartThread("a test", [&] { ran = true; });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
  EXPECT_TRUE(ran);
}

TEST(StartThread, WhereTheSystemHasNoneLeftItSaysForWhat) {
  if (!kThreadsCanBeFew) GTEST_SKIP();
  const auto start_too_many = [] {
    LeaveFewThreads();
    std::vector<std::thread> threads;
    while (true) {
      absl::StatusOr<std::thread> thread = StartThread("a test", [] { pause(); });
      if (!thread.ok()) {
        fputs(thread.status().ToString().c_str(), stderr);
        _exit(threads.empty() ? 1 : 0);
      }
      threads.push_back(*std::move(thread));
    }
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(0), "RESOURCE_EXHAUSTED: no thread for a test: Resource");
}

}  // namespace
}  // namespace verbena
