#include "rpc/coroutine/resume.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <optional>
#include <utility>

#include "rpc/coroutine/task.h"
#include "rpc/coroutine/testing/stack_gauge.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"

namespace verbena {
namespace {

using testing::StackGauge;
using testing::Started;
using testing::Suspension;

Task<int> Note(StackGauge* stack) {
  stack->Note();
  co_return 1;
}

Task<int> AwaitThenCount(Suspension* suspension, int times, StackGauge* stack) {
  co_await suspension->Wait();
  int sum = 0;
  for (int i = 0; i < times; ++i) sum += co_await Note(stack);
  co_return sum;
}

TEST(Resume, ReturnsWhenEveryoneInTheChainHasSuspended) {
  Suspension first, second;
  const auto wait_twice = [&]() -> Task<> {
    co_await first.Wait();
    const auto wait = [&second]() -> Task<> { co_await second.Wait(); };
    co_await wait();
  };
  const Started<void> started(wait_twice());
  first.Continue();
  EXPECT_TRUE(second.has_waiter());
  second.Continue();
  EXPECT_TRUE(started.has_finished());
}

TEST(Resume, HandleResumedDirectlyHandsOverWithoutGrowingTheStack) {
  Suspension suspension;
  StackGauge stack;
  const Started<int> started(AwaitThenCount(&suspension, 100000, &stack));
  suspension.take_waiter().resume();
  EXPECT_EQ(*started.outcome(), 100000);
  EXPECT_LT(stack.bytes(), testing::kStackOfOneHandOver);
}

TEST(Resume, CoroutineResumedDirectlyByAnotherRunsUntilItSuspends) {
  Suspension outer, inner;
  StackGauge stack;
  std::optional<Started<int>> started(std::in_place, AwaitThenCount(&inner, 3, &stack));
  std::optional<int> sum;
  const auto resume_and_destroy = [&]() -> Task<> {
    co_await outer.Wait();
    inner.take_waiter().resume();
    sum = *started->outcome();
    started.reset();
  };
  const Started<void> resuming(resume_and_destroy());
  outer.Continue();
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(resuming.has_finished());
}

TEST(Resume, WithinAnotherCoroutineLeavesThatOneToItsOwnChain) {
  Suspension outer, inner;
  StackGauge stack;
  const Started<int> resumed(AwaitThenCount(&inner, 3, &stack));
  StackGauge own_stack;
  const auto resume_then_await = [&]() -> Task<int> {
    co_await outer.Wait();
    const int before = co_await Note(&own_stack);
    inner.Continue();
    co_return before + co_await Note(&own_stack);
  };
  const Started<int> resuming(resume_then_await());
  outer.Continue();
  EXPECT_EQ(*resumed.outcome(), 3);
  EXPECT_EQ(*resuming.outcome(), 2);
  EXPECT_EQ(own_stack.bytes(), 0u);
}

}  // namespace
}  // namespace verbena
