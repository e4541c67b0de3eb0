#include "rpc/coroutine/when_any.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rpc/coroutine/event.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/testing/live_count.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"
#include "rpc/testing/manual_loop.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using testing::LiveCount;
using testing::ManualLoop;
using testing::Started;
using testing::Suspension;

Task<int> Give(int value) { co_return value; }

Task<int> GiveLater(int value, LiveCount::Token, Suspension* suspension) {
  co_await suspension->Wait();
  co_return value;
}

Task<> Sleep(transport::EventLoop* loop, absl::Duration duration) { co_await SleepFor(*loop, duration); }

Task<int> ThrowLater(Suspension* suspension) {
  co_await suspension->Wait();
  throw std::runtime_error("lost");
}

TEST(WhenAny, GivesTheFirstWithItsIndex) {
  Suspension first, second;
  LiveCount count;
  using Value = std::variant<int, int>;
  const auto await = [&]() -> Task<Value> {
    co_return co_await WhenAny(GiveLater(1, count.Make(), &first), GiveLater(2, count.Make(), &second));
  };
  const Started<Value> started(await());
  EXPECT_FALSE(started.has_finished());
  second.Continue();
  EXPECT_EQ(*started.outcome(), Value(std::in_place_index<1>, 2));
}

TEST(WhenAny, OthersAreDestroyedBeforeTheAwaiterGoesOn) {
  Suspension first, second, third;
  LiveCount count;
  const auto live_after = [&count](std::variant<int, int, int>) { return count.live(); };
  const auto await = [&]() -> Task<int> {
    co_return live_after(co_await WhenAny(GiveLater(1, count.Make(), &first), GiveLater(2, count.Make(), &second),
                                          GiveLater(3, count.Make(), &third)));
  };
  const Started<int> started(await());
  EXPECT_EQ(count.live(), 3);
  second.Continue();
  EXPECT_EQ(*started.outcome(), 0);
  EXPECT_FALSE(first.has_waiter());
  EXPECT_FALSE(third.has_waiter());
}

TEST(WhenAny, OfAVectorGivesTheFirstWithItsIndex) {
  Suspension first, second;
  LiveCount count;
  const auto await = [&]() -> Task<std::pair<size_t, int>> {
    std::vector<Task<int>> tasks;
    tasks.push_back(GiveLater(1, count.Make(), &first));
    tasks.push_back(GiveLater(2, count.Make(), &second));
    const std::optional<FirstFinished<int>> finished = co_await WhenAny(std::move(tasks));
    co_return std::pair(finished->index, finished->value);
  };
  const Started<std::pair<size_t, int>> started(await());
  second.Continue();
  EXPECT_EQ(*started.outcome(), std::pair(size_t{1}, 2));
  EXPECT_EQ(count.live(), 0);
}

TEST(WhenAny, OfAnEmptyVectorGivesNothingAtOnce) {
  const auto await = []() -> Task<bool> { co_return (co_await WhenAny(std::vector<Task<>>())).has_value(); };
  EXPECT_FALSE(*Started(await()).outcome());
}

TEST(WhenAny, TaskThatFinishesAtOnceLeavesThoseBehindItUnstarted) {
  Suspension before, behind;
  LiveCount count;
  bool started_behind = false;
  const auto mark = [&started_behind](LiveCount::Token) -> Task<> {
    started_behind = true;
    co_return;
  };
  using Value = std::variant<int, int, std::monostate>;
  const auto live_after = [&count](Value) { return count.live(); };
  const auto await = [&]() -> Task<int> {
    co_return live_after(co_await WhenAny(GiveLater(1, count.Make(), &before), Give(2), mark(count.Make())));
  };
  EXPECT_EQ(*Started(await()).outcome(), 0);
  EXPECT_FALSE(started_behind);
}

TEST(WhenAny, TaskThatFinishesAnotherWhileItIsStartedLosesAndIsDestroyed) {
  Suspension first, second;
  LiveCount count;
  const auto finish_first = [&](LiveCount::Token) -> Task<> {
    first.Continue();
    co_await second.Wait();
  };
  const auto await = [&]() -> Task<size_t> {
    co_return (co_await WhenAny(GiveLater(1, count.Make(), &first), finish_first(count.Make()))).index();
  };
  EXPECT_EQ(*Started(await()).outcome(), 0u);
  EXPECT_FALSE(second.has_waiter());
  EXPECT_EQ(count.live(), 0);
}

TEST(WhenAny, TaskThatFinishesAfterAnotherWhileItIsStartedLoses) {
  Suspension first;
  LiveCount count;
  const auto finish_both = [&](LiveCount::Token) -> Task<> {
    first.Continue();
    co_return;
  };
  const auto await = [&]() -> Task<size_t> {
    co_return (co_await WhenAny(GiveLater(1, count.Make(), &first), finish_both(count.Make()))).index();
  };
  EXPECT_EQ(*Started(await()).outcome(), 0u);
  EXPECT_EQ(count.live(), 0);
}

TEST(WhenAny, TaskThatSetsAnEventForAnotherIsNotInTheMiddleOfItsCodeWhenItIsDestroyed) {
  ManualLoop loop;
  OneShotEvent event(loop);
  LiveCount count;
  Suspension suspension;
  bool went_on = false;
  const auto set = [&](LiveCount::Token) -> Task<> {
    co_await Yield(loop);
    event.Set();
    went_on = true;
    co_await suspension.Wait();
  };
  const auto wait = [&]() -> Task<> { co_await event.Wait(); };
  const auto await = [&]() -> Task<size_t> { co_return (co_await WhenAny(wait(), set(count.Make()))).index(); };
  const Started<size_t> started(await());
  loop.RunUntilIdle();
  EXPECT_EQ(*started.outcome(), 0u);
  EXPECT_TRUE(went_on);
  EXPECT_EQ(count.live(), 0);
}

TEST(WhenAny, ExceptionOfTheFirstComesOutAndOfAnotherIsNeverThrown) {
  Suspension first, second;
  LiveCount count;
  const auto await = [&]() -> Task<> { co_await WhenAny(ThrowLater(&first), GiveLater(2, count.Make(), &second)); };
  const Started<void> throwing(await());
  first.Continue();
  EXPECT_EQ(throwing.outcome(), absl::InternalError("the coroutine threw: lost"));
  EXPECT_EQ(count.live(), 0);
  const Started<void> giving(await());
  second.Continue();
  EXPECT_TRUE(giving.outcome().ok());
  EXPECT_FALSE(first.has_waiter());
}

TEST(WhenAny, WithASleepIsATimeLimit) {
  ManualLoop loop;
  Suspension never;
  LiveCount count;
  const auto await = [&]() -> Task<size_t> {
    co_return (co_await WhenAny(GiveLater(1, count.Make(), &never), Sleep(&loop, absl::Seconds(1)))).index();
  };
  const Started<size_t> started(await());
  loop.Advance(absl::Milliseconds(999));
  EXPECT_FALSE(started.has_finished());
  loop.Advance(absl::Milliseconds(1));
  EXPECT_EQ(*started.outcome(), 1u);
  EXPECT_EQ(count.live(), 0);
}

TEST(WhenAny, TimeLimitThatIsNotReachedLeavesNoTimer) {
  ManualLoop loop;
  Suspension suspension;
  LiveCount count;
  const auto await = [&]() -> Task<size_t> {
    co_return (co_await WhenAny(GiveLater(1, count.Make(), &suspension), Sleep(&loop, absl::Seconds(1)))).index();
  };
  const Started<size_t> started(await());
  EXPECT_EQ(loop.timers(), 1u);
  suspension.Continue();
  EXPECT_EQ(*started.outcome(), 0u);
  EXPECT_EQ(loop.timers(), 0u);
}

TEST(WhenAny, DestroyedItTakesAllTasksAlong) {
  Suspension first, second;
  LiveCount count;
  const auto await = [&]() -> Task<> {
    co_await WhenAny(GiveLater(1, count.Make(), &first), GiveLater(2, count.Make(), &second));
  };
  Started<void> started(await());
  started.Cancel();
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(first.has_waiter());
  EXPECT_FALSE(second.has_waiter());
}

TEST(WhenAny, TakesNoAllocation) {
  std::vector<Task<int>> tasks;
  tasks.push_back(Give(1));
  tasks.push_back(Give(2));
  uint64_t allocations = 0;
  const auto await = [&](Task<int> first, Task<int> second) -> Task<> {
    const uint64_t before = testing::AllocationCount();
    co_await WhenAny(std::move(first), std::move(second));
    co_await WhenAny(std::move(tasks));
    allocations = testing::AllocationCount() - before;
  };
  EXPECT_TRUE(Started(await(Give(1), Give(2))).has_finished());
  EXPECT_EQ(allocations, 0u);
}

}  // namespace
}  // namespace verbena
