#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "tests/few_threads/few_threads.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

TEST(EventLoopGroup, WhereTheSystemHasNotSoManyThreadsItSaysHowManyWereWanted) {
  if (!kThreadsCanBeFew) GTEST_SKIP();
  const auto start_too_many = [] {
    LeaveFewThreads();
    fputs(EventLoopGroup::Start(64, EventLoopOptions()).status().ToString().c_str(), stderr);
  };
  EXPECT_EXIT((start_too_many(), _exit(0)), testing::ExitedWithCode(0),
              "RESOURCE_EXHAUSTED: no thread for event loop ([2-9]|[1-9][0-9]) of 64: ");
}

}  // namespace
}  // namespace verbena::transport
