#include "rpc/coroutine/async_generator.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/block_cache.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/testing/live_count.h"
#include "rpc/coroutine/testing/stack_gauge.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using testing::LiveCount;
using testing::Started;
using testing::Suspension;

AsyncGenerator<int> CountTo(int last) {
  for (int i = 1; i <= last; ++i) co_yield i;
}

// Awaits `suspension` before each value.
AsyncGenerator<std::string> GiveEachLater(LiveCount::Token, std::vector<std::string> values, Suspension* suspension) {
  for (const std::string& value : values) {
    co_await suspension->Wait();
    co_yield value;
  }
}

Task<std::vector<int>> Collect(AsyncGenerator<int> generator) {
  std::vector<int> values;
  while (const std::optional<int> value = co_await generator.Next()) values.push_back(*value);
  co_return values;
}

Task<std::string> Join(AsyncGenerator<std::string> generator) {
  std::string joined;
  while (std::optional<std::string> value = co_await generator.Next()) joined += *value;
  co_return joined;
}

Task<std::optional<std::string>> TakeOne(AsyncGenerator<std::string>* generator) {
  co_return co_await generator->Next();
}

TEST(AsyncGenerator, GivesItsValuesAndThenNothing) {
  EXPECT_EQ(*Started(Collect(CountTo(3))).outcome(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(*Started(Collect(CountTo(0))).outcome(), std::vector<int>());
}

TEST(AsyncGenerator, RunsNothingUntilItIsAsked) {
  bool ran = false;
  const auto mark = [&ran]() -> AsyncGenerator<int> {
    ran = true;
    co_yield 1;
  };
  AsyncGenerator<int> generator = mark();
  EXPECT_FALSE(ran);
  EXPECT_EQ(*Started(Collect(std::move(generator))).outcome(), std::vector<int>{1});
}

TEST(AsyncGenerator, AfterTheLastValueItGivesNothingAsOftenAsItIsAsked) {
  const auto ask = []() -> Task<bool> {
    AsyncGenerator<int> generator = CountTo(0);
    const bool first = (co_await generator.Next()).has_value();
    const bool second = (co_await generator.Next()).has_value();
    co_return first || second;
  };
  EXPECT_FALSE(*Started(ask()).outcome());
}

TEST(AsyncGenerator, ValuesMayBeMoveOnly) {
  const auto give = []() -> AsyncGenerator<std::unique_ptr<int>> { co_yield std::make_unique<int>(7); };
  const auto take = [&give]() -> Task<int> {
    AsyncGenerator<std::unique_ptr<int>> generator = give();
    co_return **(co_await generator.Next());
  };
  EXPECT_EQ(*Started(take()).outcome(), 7);
}

TEST(AsyncGenerator, VariableThatWasGivenKeepsItsValue) {
  const auto give = []() -> AsyncGenerator<std::string> {
    std::string value = "a string that is too long for a small one";
    co_yield value;
    co_yield value;
  };
  const Started<std::string> joined(Join(give()));
  EXPECT_EQ(*joined.outcome(), "a string that is too long for a small onea string that is too long for a small one");
}

TEST(AsyncGenerator, MayAwaitBetweenValues) {
  LiveCount count;
  Suspension suspension;
  const Started<std::string> joined(Join(GiveEachLater(count.Make(), {"a", "b"}, &suspension)));
  suspension.Continue();
  EXPECT_FALSE(joined.has_finished());
  suspension.Continue();
  EXPECT_EQ(*joined.outcome(), "ab");
  EXPECT_EQ(count.live(), 0);
}

TEST(AsyncGenerator, ExceptionComesOutOfNextAndIsTheEnd) {
  const auto give = []() -> AsyncGenerator<int> {
    co_yield 1;
    throw std::runtime_error("lost");
  };
  const auto take = [&give]() -> Task<std::string> {
    AsyncGenerator<int> generator = give();
    std::string seen = std::to_string(*co_await generator.Next());
    try {
      co_await generator.Next();
    } catch (const std::runtime_error& thrown) {
      seen += thrown.what();
    }
    const std::optional<int> after = co_await generator.Next();
    co_return seen + (after.has_value() ? " and more" : "");
  };
  EXPECT_EQ(*Started(take()).outcome(), "1lost");
}

TEST(AsyncGenerator, DestroyedMidwayItDestroysWhatItHolds) {
  LiveCount count;
  Suspension suspension;
  std::optional<AsyncGenerator<std::string>> generator = GiveEachLater(count.Make(), {"a", "b"}, &suspension);
  const Started<std::optional<std::string>> taken(TakeOne(&*generator));
  suspension.Continue();
  EXPECT_EQ(*taken.outcome(), "a");
  EXPECT_EQ(count.live(), 1);
  generator.reset();  // At its co_yield.
  EXPECT_EQ(count.live(), 0);
}

TEST(AsyncGenerator, DestroyedWhileItAwaitsItLeavesItsConsumerSuspended) {
  LiveCount count;
  Suspension suspension;
  std::optional<AsyncGenerator<std::string>> generator = GiveEachLater(count.Make(), {"a"}, &suspension);
  Started<std::optional<std::string>> taken(TakeOne(&*generator));
  generator.reset();
  EXPECT_FALSE(suspension.has_waiter());
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(taken.has_finished());
  taken.Cancel();
  EXPECT_FALSE(taken.has_finished());
}

TEST(AsyncGenerator, ConsumerThatOwnsItTakesItAlong) {
  LiveCount count;
  Suspension suspension;
  Started<std::string> joined(Join(GiveEachLater(count.Make(), {"a"}, &suspension)));
  joined.Cancel();
  EXPECT_FALSE(suspension.has_waiter());
  EXPECT_EQ(count.live(), 0);
}

TEST(AsyncGenerator, ValueForADestroyedConsumerIsForTheNextOne) {
  LiveCount count;
  Suspension suspension;
  AsyncGenerator<std::string> generator = GiveEachLater(count.Make(), {"a", "b"}, &suspension);
  Started<std::optional<std::string>> destroyed(TakeOne(&generator));
  destroyed.Cancel();
  suspension.Continue();
  const Started<std::optional<std::string>> taken(TakeOne(&generator));
  EXPECT_EQ(*taken.outcome(), "a");
}

TEST(AsyncGenerator, ConsumerTakesThePlaceOfADestroyedOneWhileTheGeneratorAwaits) {
  LiveCount count;
  Suspension suspension;
  AsyncGenerator<std::string> generator = GiveEachLater(count.Make(), {"a", "b"}, &suspension);
  Started<std::optional<std::string>> destroyed(TakeOne(&generator));
  destroyed.Cancel();
  const Started<std::optional<std::string>> taken(TakeOne(&generator));
  EXPECT_FALSE(taken.has_finished());
  suspension.Continue();
  EXPECT_EQ(*taken.outcome(), "a");
}

TEST(AsyncGenerator, GeneratorsMayBeMadeOfGenerators) {
  const auto twice = [](AsyncGenerator<int> values) -> AsyncGenerator<int> {
    while (const std::optional<int> value = co_await values.Next()) co_yield 2 * *value;
  };
  EXPECT_EQ(*Started(Collect(twice(twice(CountTo(3))))).outcome(), (std::vector<int>{4, 8, 12}));
}

TEST(AsyncGenerator, MillionValuesTakeTheStackOfOneAndNoAllocation) {
  constexpr int kMillion = 1000000;
  testing::StackGauge stack;
  uint64_t allocations = 0;
  const auto sum_up = [&](AsyncGenerator<int> generator) -> Task<int64_t> {
    int64_t sum = 0;
    const uint64_t before = testing::AllocationCount();
    while (const std::optional<int> value = co_await generator.Next()) {
      sum += *value;
      stack.Note();
    }
    allocations = testing::AllocationCount() - before;
    co_return sum;
  };
  EXPECT_EQ(*Started(sum_up(CountTo(kMillion))).outcome(), int64_t{kMillion} * (kMillion + 1) / 2);
  EXPECT_EQ(allocations, 0u);
  EXPECT_LT(stack.bytes(), testing::kStackOfOneHandOver);
}

TEST(AsyncGenerator, FrameIsOneAllocation) {
  std::optional<AsyncGenerator<int>> generator;
  BlockCache::Clear();
  EXPECT_EQ(testing::AllocationsOf([&] { generator = CountTo(3); }), 1u);
}

}  // namespace
}  // namespace verbena
