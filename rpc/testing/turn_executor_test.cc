#include "rpc/testing/turn_executor.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "rpc/completion_waiter.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::testing {
namespace {

class TurnExecutorTest : public ::testing::Test {
 protected:
  // A handler that says its name, waits and says it again.
  void Submit(TurnExecutor& executor, std::string name, rpc::CompletionWaiter& waiter) {
    EXPECT_TRUE(executor.TrySubmit([this, name, &waiter] {
      said_ += name;
      waiter.Wait().IgnoreError();
      said_ += name;
    }));
  }

  ManualLoop loop_;
  rpc::CompletionWaiter first_, second_;
  std::string said_;
};

TEST_F(TurnExecutorTest, TaskRunsOnAnotherThreadWhileTheLoopRuns) {
  TurnExecutor executor(&loop_, 1, 1);
  std::thread::id thread = std::this_thread::get_id();
  bool on_loop = true;
  ASSERT_TRUE(executor.TrySubmit([&] {
    thread = std::this_thread::get_id();
    on_loop = loop_.InLoopThread();
  }));
  EXPECT_EQ(thread, std::this_thread::get_id());
  loop_.RunUntilIdle();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_FALSE(on_loop);
}

TEST_F(TurnExecutorTest, LoopGoesOnWhileHandlersWait) {
  TurnExecutor executor(&loop_, 2, 2);
  Submit(executor, "a", first_);
  Submit(executor, "b", second_);
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "ab");
  second_.Complete(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "abb");
  first_.Complete(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "abba");
}

TEST_F(TurnExecutorTest, TasksPastTheThreadsWaitAndPastTheQueueAreRefused) {
  TurnExecutor executor(&loop_, 1, 1);
  Submit(executor, "a", first_);
  loop_.RunUntilIdle();
  Submit(executor, "b", second_);
  EXPECT_FALSE(executor.TrySubmit([this] { said_ += "c"; }));
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "a");
  first_.Complete(absl::OkStatus());
  second_.Complete(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "aabb");
}

TEST_F(TurnExecutorTest, ShutdownDropsWhatWaitsAndDrivesTheLoopUntilTheRestHasReturned) {
  TurnExecutor executor(&loop_, 1, 1);
  Submit(executor, "a", first_);
  loop_.RunUntilIdle();
  Submit(executor, "b", second_);
  loop_.Post([this] { first_.Complete(absl::OkStatus()); });
  executor.Shutdown();
  EXPECT_EQ(said_, "aa");
  EXPECT_FALSE(executor.TrySubmit([this] { said_ += "c"; }));
}

}  // namespace
}  // namespace verbena::testing
