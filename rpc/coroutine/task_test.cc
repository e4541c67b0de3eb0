#include "rpc/coroutine/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/block_cache.h"
#include "rpc/coroutine/testing/live_count.h"
#include "rpc/coroutine/testing/stack_gauge.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using testing::AllocationsOf;
using testing::LiveCount;
using testing::StackGauge;
using testing::Started;
using testing::Suspension;

constexpr int kMillion = 1000000;

Task<int> Give(int value) { co_return value; }

Task<> Mark(bool* ran) {
  *ran = true;
  co_return;
}

Task<int> SumOfTwo() {
  const int one = co_await Give(1);
  const int two = co_await Give(2);
  co_return one + two;
}

Task<std::unique_ptr<int>> GiveOwned(std::unique_ptr<int> value) { co_return value; }

Task<int> Throw() {
  throw std::runtime_error("lost");
  co_return 0;
}

Task<std::string> Catch() {
  try {
    co_await Throw();
  } catch (const std::runtime_error& thrown) {
    co_return thrown.what();
  }
  co_return "nothing came";
}

// Holds a parameter and a variable while it waits.
Task<> Hold(LiveCount* count, LiveCount::Token, Suspension* suspension) {
  const LiveCount::Token variable = count->Make();
  co_await suspension->Wait();
}

Task<> AwaitHold(LiveCount* count, Suspension* suspension) {
  const LiveCount::Token variable = count->Make();
  co_await Hold(count, count->Make(), suspension);
}

TEST(Task, RunsNothingUntilItIsAwaited) {
  bool ran = false;
  Task<> task = Mark(&ran);
  EXPECT_FALSE(ran);
  const Started<void> started(std::move(task));
  EXPECT_TRUE(ran);
}

TEST(Task, AwaiterGetsTheValue) {
  const Started<int> sum(SumOfTwo());
  EXPECT_EQ(*sum.outcome(), 3);
}

TEST(Task, ValueMayBeMoveOnly) {
  const auto add_one = []() -> Task<int> {
    const std::unique_ptr<int> value = co_await GiveOwned(std::make_unique<int>(6));
    co_return *value + 1;
  };
  const Started<int> started(add_one());
  EXPECT_EQ(*started.outcome(), 7);
}

TEST(Task, ExceptionComesOutOfTheAwait) {
  const Started<std::string> started(Catch());
  EXPECT_EQ(*started.outcome(), "lost");
}

TEST(Task, AwaiterGoesOnWhenWhatWasAwaitedHasFinished) {
  LiveCount count;
  Suspension suspension;
  const Started<void> started(AwaitHold(&count, &suspension));
  EXPECT_FALSE(started.has_finished());
  EXPECT_EQ(count.live(), 3);
  suspension.Continue();
  EXPECT_TRUE(started.has_finished());
  EXPECT_EQ(count.live(), 0);
}

TEST(Task, FrameIsGoneWhenTheAwaiterGoesOn) {
  LiveCount count;
  const auto await_named = [&count]() -> Task<int> {
    const auto take = [](LiveCount::Token) -> Task<> { co_return; };
    Task<> task = take(count.Make());
    co_await std::move(task);
    co_return count.live();
  };
  const Started<int> started(await_named());
  EXPECT_EQ(*started.outcome(), 0);
}

TEST(Task, DestroyedUnstartedItDestroysItsParameters) {
  LiveCount count;
  Suspension suspension;
  {
    const Task<> task = Hold(&count, count.Make(), &suspension);
    EXPECT_EQ(count.live(), 1);
  }
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(suspension.has_waiter());
}

TEST(Task, DestroyedWhileSuspendedItDestroysWhatItAwaits) {
  LiveCount count;
  Suspension suspension;
  Started<void> started(AwaitHold(&count, &suspension));
  EXPECT_TRUE(suspension.has_waiter());
  started.Cancel();
  EXPECT_FALSE(suspension.has_waiter());
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(started.has_finished());
}

TEST(Task, AwaitedFromElsewhereItDiesWithTheAwaiter) {
  LiveCount count;
  Suspension suspension;
  Task<> elsewhere = Hold(&count, count.Make(), &suspension);
  const auto await = [](Task<>& task) -> Task<> { co_await std::move(task); };
  Started<void> started(await(elsewhere));
  started.Cancel();
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(suspension.has_waiter());
}

TEST(Task, AssignmentDestroysWhatWasThere) {
  LiveCount count;
  Suspension suspension;
  Task<> task = Hold(&count, count.Make(), &suspension);
  task = AwaitHold(&count, &suspension);
  EXPECT_EQ(count.live(), 0);
}

TEST(Task, MillionAwaitsInARowTakeTheStackOfOne) {
  StackGauge stack;
  const auto note = [&stack]() -> Task<int> {
    stack.Note();
    co_return 1;
  };
  const auto await_many = [&note]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < kMillion; ++i) sum += co_await note();
    co_return sum;
  };
  const Started<int> started(await_many());
  EXPECT_EQ(*started.outcome(), kMillion);
  EXPECT_LT(stack.bytes(), testing::kStackOfOneHandOver);
}

Task<int> AwaitWithin(int depth, Suspension* suspension, StackGauge* stack) {
  stack->Note();
  if (depth == 0) {
    co_await suspension->Wait();
    co_return 0;
  }
  const int within = co_await AwaitWithin(depth - 1, suspension, stack);
  stack->Note();
  co_return within + 1;
}

TEST(Task, MillionAwaitsWithinEachOtherTakeTheStackOfOne) {
  Suspension suspension;
  StackGauge down, up;
  const Started<int> started(AwaitWithin(kMillion, &suspension, &down));
  EXPECT_LT(std::exchange(down, up).bytes(), testing::kStackOfOneHandOver);
  suspension.Continue();
  EXPECT_EQ(*started.outcome(), kMillion);
  EXPECT_LT(down.bytes(), testing::kStackOfOneHandOver);
}

TEST(Task, FrameIsOneAllocationAndAwaitingItNone) {
  const auto await_ten = []() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 10; ++i) sum += co_await Give(1);
    co_return sum;
  };
  Task<int> task = Give(0);
  BlockCache::Clear();
  EXPECT_EQ(AllocationsOf([&] { task = await_ten(); }), 1u);
  int sum = 0;
  RunningTask running;
  BlockCache::Clear();
  const uint64_t allocations = AllocationsOf(
      [&] { running = StartTask(std::move(task), [&sum](absl::StatusOr<int> outcome) { sum = *outcome; }); });
  EXPECT_EQ(sum, 10);
  // Ten frames, which one is enough for in turn, and StartTask's own.
  EXPECT_EQ(allocations, BlockCache::kKeeps ? 2u : 11u);
}

// No variable in its outermost block: what gcc before 12.3 makes of it cannot run.
Task<> MarkIf(bool* ran) {
  if (co_await Give(1)) *ran = true;
}

// As many conditions as bring the frame's head to where memory might have been allocated.
Task<> MarkByFour(bool* ran) {
  switch (co_await Give(1)) {
    case 1:
      switch (co_await Give(1)) {
        case 1:
          switch (co_await Give(1)) {
            case 1:
              switch (co_await Give(1)) {
                case 1:
                  *ran = true;
              }
          }
      }
  }
}

using Marking = Task<> (*)(bool* ran);

class MiscompiledTask : public ::testing::TestWithParam<Marking> {};

TEST_P(MiscompiledTask, SaysSoWhereItIsCalled) {
  bool ran = false;
  std::string thrown;
  try {
    Started<void> started(GetParam()(&ran));
  } catch (const std::logic_error& error) {
    thrown = error.what();
  }
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12 && __GNUC_MINOR__ < 3
  EXPECT_THAT(thrown, ::testing::HasSubstr("miscompiled by gcc before 12.3"));
  EXPECT_FALSE(ran);
#else
  EXPECT_EQ(thrown, "");
  EXPECT_TRUE(ran);
#endif
}

INSTANTIATE_TEST_SUITE_P(Conditions, MiscompiledTask, ::testing::Values(MarkIf, MarkByFour));

// Its parameters are copied into the frame by making another one: the newest is not its own.
struct MakesATask {
  MakesATask() = default;
  MakesATask(const MakesATask&) { Started<int>(Give(1)); }
};

Task<int> TakeThem(MakesATask, int value) { co_return value; }

TEST(Task, ParametersThatMakeCoroutinesWhenTheyAreCopied) {
  const MakesATask parameter;
  Started<int> started(TakeThem(parameter, 7));
  EXPECT_EQ(*started.outcome(), 7);
}

}  // namespace
}  // namespace verbena
