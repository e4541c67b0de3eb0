#include "rpc/coroutine/block_on.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/testing/live_count.h"
#include "tests/allocation_count/allocation_count.h"
#include "transport/event_loop.h"

namespace verbena {
namespace {

using testing::LiveCount;

class BlockOnTest : public ::testing::Test {
 protected:
  const std::unique_ptr<transport::EventLoop> loop_ = *transport::EventLoop::Create({});
};

TEST_F(BlockOnTest, GivesTheResultWhenTheTaskHasFinished) {
  const auto sleep = [this]() -> Task<int> {
    co_await SleepFor(*loop_, absl::Milliseconds(1));
    co_return 7;
  };
  EXPECT_EQ(*BlockOn(*loop_, sleep()), 7);
}

TEST_F(BlockOnTest, TaskRunsOnTheLoopsThreadFromTheBeginning) {
  const auto where = [this]() -> Task<bool> { co_return loop_->InLoopThread(); };
  EXPECT_TRUE(*BlockOn(*loop_, where()));
  EXPECT_FALSE(loop_->InLoopThread());
}

TEST_F(BlockOnTest, LoopRunsWhatElseIsDue) {
  bool ran = false;
  loop_->Post([&ran] { ran = true; });
  const auto yield = [this]() -> Task<> { co_await Yield(*loop_); };
  EXPECT_TRUE(BlockOn(*loop_, yield()).ok());
  EXPECT_TRUE(ran);
}

TEST_F(BlockOnTest, ExceptionIsInternalAndNamed) {
  const auto fail = []() -> Task<absl::Status> {
    throw std::runtime_error("lost");
    co_return absl::OkStatus();
  };
  EXPECT_EQ(BlockOn(*loop_, fail()), absl::InternalError("the coroutine threw: lost"));
}

TEST_F(BlockOnTest, StoppedLoopIsCancelledAndSoIsTheTask) {
  LiveCount count;
  const auto stop = [this](LiveCount::Token) -> Task<> {
    loop_->Stop();
    co_await SleepFor(*loop_, absl::InfiniteDuration());
  };
  EXPECT_EQ(BlockOn(*loop_, stop(count.Make())),
            absl::CancelledError("the event loop was stopped before the coroutine had finished"));
  EXPECT_EQ(count.live(), 0);
}

TEST_F(BlockOnTest, OnALoopThatWasStoppedBeforeNothingRuns) {
  bool ran = false;
  const auto mark = [&ran]() -> Task<> {
    ran = true;
    co_return;
  };
  loop_->Stop();
  EXPECT_EQ(BlockOn(*loop_, mark()).code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(ran);
}

TEST_F(BlockOnTest, WithinItsOwnLoopIsRefused) {
  bool ran = false;
  const auto mark = [&ran]() -> Task<> {
    ran = true;
    co_return;
  };
  const auto block = [&]() -> Task<absl::Status> { co_return BlockOn(*loop_, mark()); };
  EXPECT_EQ(BlockOn(*loop_, block()),
            absl::FailedPreconditionError("BlockOn was called by what its own loop runs; await the task instead"));
  EXPECT_FALSE(ran);
}

TEST_F(BlockOnTest, TaskMayFinishOnAnotherThread) {
  auto other = *transport::EventLoop::Create({});
  std::thread driver([&other] { other->RunUntil([] { return false; }); });
  const auto hop = [&other]() -> Task<bool> {
    co_await ResumeOn(*other);
    co_return other->InLoopThread();
  };
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(*BlockOn(*loop_, hop()));
  other->Stop();
  driver.join();
}

TEST_F(BlockOnTest, TakesNoAllocation) {
  const auto give = []() -> Task<int> { co_return 7; };
  Task<int> task = give();
  EXPECT_EQ(testing::AllocationsOf([&] { EXPECT_EQ(*BlockOn(*loop_, std::move(task)), 7); }), 0u);
}

}  // namespace
}  // namespace verbena
