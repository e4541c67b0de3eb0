#include "rpc/coroutine/when_all.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/block_cache.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/testing/live_count.h"
#include "rpc/coroutine/testing/stack_gauge.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"
#include "tests/allocation_count/allocation_count.h"
#include "transport/event_loop.h"

namespace verbena {
namespace {

using testing::AllocationsOf;
using testing::LiveCount;
using testing::Started;
using testing::Suspension;

Task<int> Give(int value) { co_return value; }

Task<> Nothing() { co_return; }

Task<int> GiveLater(int value, Suspension* suspension) {
  co_await suspension->Wait();
  co_return value;
}

Task<> Hold(LiveCount::Token, Suspension* suspension) { co_await suspension->Wait(); }

Task<int> ThrowLater(std::string what, Suspension* suspension) {
  co_await suspension->Wait();
  throw std::runtime_error(what);
}

template <typename T>
std::vector<Task<T>> VectorOf(Task<T> first, Task<T> second) {
  std::vector<Task<T>> tasks;
  tasks.push_back(std::move(first));
  tasks.push_back(std::move(second));
  return tasks;
}

TEST(WhenAll, GivesATupleOfAllResultsInOrder) {
  const auto await = []() -> Task<std::string> {
    const auto owned = []() -> Task<std::unique_ptr<std::string>> { co_return std::make_unique<std::string>("b"); };
    std::tuple<int, std::monostate, std::unique_ptr<std::string>> all = co_await WhenAll(Give(7), Nothing(), owned());
    co_return std::to_string(std::get<0>(all)) + *std::get<2>(all);
  };
  EXPECT_EQ(*Started(await()).outcome(), "7b");
}

TEST(WhenAll, GivesAVectorOfAllResultsInOrder) {
  Suspension first, second;
  const auto await = [&]() -> Task<std::vector<int>> {
    co_return co_await WhenAll(VectorOf(GiveLater(1, &first), GiveLater(2, &second)));
  };
  const Started<std::vector<int>> started(await());
  second.Continue();
  EXPECT_FALSE(started.has_finished());
  first.Continue();
  EXPECT_EQ(*started.outcome(), (std::vector<int>{1, 2}));
}

TEST(WhenAll, VectorOfTasksWithoutResultIsAwaitedToTheLast) {
  LiveCount count;
  Suspension first, second;
  const auto await = [&]() -> Task<> {
    co_await WhenAll(VectorOf(Hold(count.Make(), &first), Hold(count.Make(), &second)));
  };
  const Started<void> started(await());
  first.Continue();
  EXPECT_FALSE(started.has_finished());
  second.Continue();
  EXPECT_TRUE(started.has_finished());
}

TEST(WhenAll, OfNothingGoesOnAtOnce) {
  const auto await = []() -> Task<size_t> {
    const std::tuple<> none = co_await WhenAll();
    co_return std::tuple_size_v<decltype(none)> + (co_await WhenAll(std::vector<Task<int>>())).size();
  };
  EXPECT_EQ(*Started(await()).outcome(), 0u);
}

TEST(WhenAll, FirstExceptionInOrderComesOutWhenAllHaveFinished) {
  Suspension first, second, third;
  const auto await = [&]() -> Task<> {
    co_await WhenAll(GiveLater(1, &first), ThrowLater("second", &second), ThrowLater("third", &third));
  };
  const Started<void> started(await());
  third.Continue();
  second.Continue();
  EXPECT_FALSE(started.has_finished());
  first.Continue();
  EXPECT_EQ(started.outcome(), absl::InternalError("the coroutine threw: second"));
}

TEST(WhenAll, DestroyedItTakesAllTasksAlong) {
  LiveCount count;
  Suspension first, second;
  const auto await = [&]() -> Task<> { co_await WhenAll(Hold(count.Make(), &first), Hold(count.Make(), &second)); };
  Started<void> started(await());
  EXPECT_EQ(count.live(), 2);
  first.Continue();
  started.Cancel();
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(second.has_waiter());
  EXPECT_FALSE(started.has_finished());
}

TEST(WhenAll, OfManyTasksTakesTheStackOfOne) {
  constexpr int kTasks = 100000;
  testing::StackGauge stack;
  const auto note = [&stack]() -> Task<int> {
    stack.Note();
    co_return 1;
  };
  const auto await = [&]() -> Task<size_t> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < kTasks; ++i) tasks.push_back(note());
    co_return (co_await WhenAll(std::move(tasks))).size();
  };
  EXPECT_EQ(*Started(await()).outcome(), size_t{kTasks});
  EXPECT_LT(stack.bytes(), testing::kStackOfOneHandOver);
}

TEST(WhenAll, TupleTakesNoAllocationAndVectorOne) {
  std::vector<Task<int>> tasks = VectorOf(Give(1), Give(2));
  uint64_t of_tuple = 0, of_vector = 0;
  const auto await = [&]() -> Task<> {
    BlockCache::Clear();
    uint64_t before = testing::AllocationCount();
    co_await WhenAll(Give(1), Give(2));
    of_tuple = testing::AllocationCount() - before;
    before = testing::AllocationCount();
    co_await WhenAll(std::move(tasks));
    of_vector = testing::AllocationCount() - before;
  };
  EXPECT_TRUE(Started(await()).has_finished());
  EXPECT_EQ(of_tuple, 2u);  // The two frames.
  EXPECT_EQ(of_vector, 1u);
}

TEST(WhenAll, TasksMayFinishOnDifferentThreads) {
  constexpr int kRounds = 1000;
  auto one = *transport::EventLoop::Create({});
  auto other = *transport::EventLoop::Create({});
  const auto hop = [](transport::EventLoop& loop) -> Task<int> {
    co_await ResumeOn(loop);
    co_return loop.InLoopThread() ? 1 : 0;
  };
  const auto hop_often = [&]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < kRounds; ++i) {
      const auto [first, second] = co_await WhenAll(hop(*one), hop(*other));
      sum += first + second;
    }
    co_return sum;
  };
  int sum = 0;
  RunningTask running = StartTask(hop_often(), [&](absl::StatusOr<int> outcome) {
    sum = *outcome;
    one->Stop();
    other->Stop();
  });
  std::thread driver([&other] { other->RunUntil([] { return false; }); });
  one->RunUntil([] { return false; });
  driver.join();
  EXPECT_EQ(sum, 2 * kRounds);
}

}  // namespace
}  // namespace verbena
