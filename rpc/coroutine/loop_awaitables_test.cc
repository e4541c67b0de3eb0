#include "rpc/coroutine/loop_awaitables.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/block_cache.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/testing/manual_loop.h"
#include "tests/allocation_count/allocation_count.h"
#include "transport/event_loop.h"

namespace verbena {
namespace {

using testing::AllocationsOf;
using testing::ManualLoop;
using testing::Started;

Task<bool> Hop(transport::EventLoop* loop) {
  co_await ResumeOn(*loop);
  co_return loop->InLoopThread();
}

Task<absl::Time> Sleep(transport::EventLoop* loop, absl::Duration duration) {
  co_await SleepFor(*loop, duration);
  co_return loop->Now();
}

Task<> YieldTwice(transport::EventLoop* loop, std::string name, std::string* log) {
  for (int i = 0; i < 2; ++i) {
    *log += name;
    co_await Yield(*loop);
  }
}

TEST(ResumeOn, GoesOnOnTheLoopsThread) {
  ManualLoop loop;
  const Started<bool> hopped(Hop(&loop));
  EXPECT_FALSE(hopped.has_finished());
  loop.RunUntilIdle();
  EXPECT_TRUE(*hopped.outcome());
}

TEST(ResumeOn, OnTheLoopsThreadNothingIsPosted) {
  ManualLoop loop;
  std::optional<Started<bool>> hopped;
  loop.Post([&] { hopped.emplace(Hop(&loop)); });
  EXPECT_TRUE(loop.RunOneTask());
  EXPECT_TRUE(hopped->has_finished());
  EXPECT_EQ(loop.posted(), 1u);  // The test's own.
}

TEST(ResumeOn, CoroutineDestroyedBeforeThePostedTaskIsNotResumed) {
  ManualLoop loop;
  Started<bool> hopped(Hop(&loop));
  hopped.Cancel();
  EXPECT_TRUE(loop.RunOneTask());
  EXPECT_FALSE(hopped.has_finished());
}

TEST(ResumeOn, CoroutineMayOutliveALoopThatNeverRan) {
  std::optional<ManualLoop> loop(std::in_place);
  Started<bool> hopped(Hop(&*loop));
  loop.reset();
  hopped.Cancel();
  EXPECT_FALSE(hopped.has_finished());
}

TEST(ResumeOn, TakesOneAllocationBesideThoseOfPost) {
  ManualLoop loop;
  const uint64_t of_post = AllocationsOf([&] { loop.Post([] {}); });
  Task<bool> task = Hop(&loop);
  RunningTask running;
  BlockCache::Clear();
  const uint64_t of_hop = AllocationsOf([&] { running = StartTask(std::move(task), [](absl::StatusOr<bool>) {}); });
  EXPECT_EQ(of_hop, of_post + 1 + 1);  // StartTask's own.
}

TEST(ResumeOn, HopsBetweenTwoLoopsThreads) {
  constexpr int kHops = 1000;
  auto one = *transport::EventLoop::Create({});
  auto other = *transport::EventLoop::Create({});
  const auto hop = [&]() -> Task<int> {
    int arrived = 0;
    for (int i = 0; i < kHops; ++i) {
      co_await ResumeOn(*other);
      arrived += other->InLoopThread() && !one->InLoopThread();
      co_await ResumeOn(*one);
      arrived += one->InLoopThread() && !other->InLoopThread();
    }
    co_return arrived;
  };
  const Started<int> hopping(hop());
  std::thread driver([&other] { other->RunUntil([] { return false; }); });
  one->RunUntil([&] { return hopping.has_finished(); });
  other->Stop();
  driver.join();
  EXPECT_EQ(*hopping.outcome(), 2 * kHops);
}

TEST(Sleep, EndsAtItsTimeAndNotBefore) {
  ManualLoop loop;
  const absl::Time start = loop.Now();
  const Started<absl::Time> slept(Sleep(&loop, absl::Milliseconds(5)));
  loop.Advance(absl::Milliseconds(4));
  EXPECT_FALSE(slept.has_finished());
  loop.Advance(absl::Milliseconds(4));
  EXPECT_EQ(*slept.outcome(), start + absl::Milliseconds(5));
}

TEST(Sleep, UntilATimeThatHasPassedEndsInAnotherTurn) {
  ManualLoop loop;
  const auto sleep = [&loop]() -> Task<> { co_await SleepUntil(loop, loop.Now() - absl::Seconds(1)); };
  const Started<void> slept(sleep());
  EXPECT_FALSE(slept.has_finished());
  loop.RunUntilIdle();
  EXPECT_TRUE(slept.has_finished());
}

TEST(Sleep, OfADestroyedCoroutineLeavesNoTimer) {
  ManualLoop loop;
  Started<absl::Time> slept(Sleep(&loop, absl::Seconds(1)));
  EXPECT_EQ(loop.timers(), 1u);
  slept.Cancel();
  EXPECT_EQ(loop.timers(), 0u);
}

TEST(Sleep, TakesTheAllocationsOfItsTimer) {
  ManualLoop loop;
  const uint64_t of_timer = AllocationsOf([&] { loop.AddTimer(absl::InfiniteFuture(), [] {}); });
  Task<absl::Time> task = Sleep(&loop, absl::Seconds(1));
  RunningTask running;
  BlockCache::Clear();
  const uint64_t of_sleep =
      AllocationsOf([&] { running = StartTask(std::move(task), [](absl::StatusOr<absl::Time>) {}); });
  EXPECT_EQ(of_sleep, of_timer + 1);  // StartTask's own.
}

TEST(Yield, LetsOthersGoFirst) {
  ManualLoop loop;
  std::string log;
  const Started<void> a(YieldTwice(&loop, "a", &log)), b(YieldTwice(&loop, "b", &log));
  loop.Post([&log] { log += "posted"; });
  loop.RunUntilIdle();
  EXPECT_EQ(log, "abpostedab");
  EXPECT_TRUE(a.has_finished() && b.has_finished());
}

TEST(Yield, RunsOnARealLoopInTurnWithPostedTasks) {
  auto loop = *transport::EventLoop::Create({});
  int posted = 0;
  const auto count = [&]() -> Task<int> {
    for (int i = 0; i < 10; ++i) {
      loop->Post([&posted] { ++posted; });
      co_await Yield(*loop);
    }
    co_return posted;
  };
  const Started<int> counted(count());
  loop->RunUntil([&] { return counted.has_finished(); });
  EXPECT_EQ(*counted.outcome(), 10);
}

}  // namespace
}  // namespace verbena
