#include "rpc/testing/turn_executor.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "rpc/completion_waiter.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::testing {
namespace {

class TurnExecutorTest : public ::testing::Test {
 protected:
  rpc::Executor::Work Work() {
    return [this] {
      if (waiting_.empty()) return false;
      const std::function<void()> handler = std::move(waiting_.front());
      waiting_.pop_front();
      handler();
      return true;
    };
  }
  void Submit(TurnExecutor& executor, std::function<void()> handler) {
    waiting_.push_back(std::move(handler));
    executor.Wake();
  }
  // A handler that says its name, waits and says it again.
  void Submit(TurnExecutor& executor, const std::string& name, rpc::CompletionWaiter& waiter) {
    Submit(executor, [this, name, &waiter] {
      said_ += name;
      waiter.Wait().IgnoreError();
      said_ += name;
    });
  }

  std::deque<std::function<void()>> waiting_;
  ManualLoop loop_;
  rpc::CompletionWaiter first_, second_;
  std::string said_;
};

TEST_F(TurnExecutorTest, TaskRunsOnAnotherThreadWhileTheLoopRuns) {
  TurnExecutor executor(&loop_, 1, Work());
  std::thread::id thread = std::this_thread::get_id();
  bool on_loop = true;
  Submit(executor, [&] {
    thread = std::this_thread::get_id();
    on_loop = loop_.InLoopThread();
  });
  EXPECT_EQ(thread, std::this_thread::get_id());
  loop_.RunUntilIdle();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_FALSE(on_loop);
}

TEST_F(TurnExecutorTest, LoopGoesOnWhileHandlersWait) {
  TurnExecutor executor(&loop_, 2, Work());
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

TEST_F(TurnExecutorTest, WorkPastTheThreadsWaits) {
  TurnExecutor executor(&loop_, 1, Work());
  Submit(executor, "a", first_);
  loop_.RunUntilIdle();
  Submit(executor, "b", second_);
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "a");
  first_.Complete(absl::OkStatus());
  second_.Complete(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "aabb");
}

// A thread that has begun takes what waits in the same turn or a later one: before the loop is idle.
TEST_F(TurnExecutorTest, OneWakeIsEnoughForWhatWaits) {
  TurnExecutor executor(&loop_, 2, Work());
  for (const char* name : {"a", "b", "c"}) {
    waiting_.push_back([this, name] { said_ += name; });
  }
  executor.Wake();
  loop_.RunUntilIdle();
  EXPECT_EQ(said_, "abc");
}

TEST_F(TurnExecutorTest, ShutdownBeginsNothingAndDrivesTheLoopUntilTheRestHasReturned) {
  TurnExecutor executor(&loop_, 1, Work());
  Submit(executor, "a", first_);
  loop_.RunUntilIdle();
  Submit(executor, "b", second_);
  loop_.Post([this] { first_.Complete(absl::OkStatus()); });
  executor.Shutdown();
  EXPECT_EQ(said_, "aa");
}

}  // namespace
}  // namespace verbena::testing
