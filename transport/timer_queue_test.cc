#include "transport/timer_queue.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::transport {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(TimerQueue, WhatIsDueRunsEarliestFirstAndTheRestWaits) {
  TimerQueue timers;
  std::string order;
  timers.Add(kStart + absl::Seconds(2), [&] { order += 'b'; });
  timers.Add(kStart + absl::Seconds(1), [&] { order += 'a'; });
  timers.Add(kStart + absl::Seconds(3), [&] { order += 'c'; });
  EXPECT_EQ(timers.NextDeadline(), kStart + absl::Seconds(1));
  EXPECT_EQ(timers.RunExpired(kStart + absl::Seconds(2)), 2);
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(timers.NextDeadline(), kStart + absl::Seconds(3));
}

TEST(TimerQueue, ACancelledTimerNeverRuns) {
  TimerQueue timers;
  bool ran = false;
  const uint64_t id = timers.Add(kStart, [&] { ran = true; });
  timers.Cancel(id);
  timers.Cancel(id);
  EXPECT_EQ(timers.RunExpired(kStart + absl::Seconds(1)), 0);
  EXPECT_FALSE(ran);
  EXPECT_EQ(timers.NextDeadline(), absl::InfiniteFuture());
}

TEST(TimerQueue, ACallbackMayCancelAnotherThatIsDue) {
  TimerQueue timers;
  bool ran = false;
  uint64_t second = 0;
  timers.Add(kStart, [&] { timers.Cancel(second); });
  second = timers.Add(kStart, [&] { ran = true; });
  EXPECT_EQ(timers.RunExpired(kStart), 1);
  EXPECT_FALSE(ran);
}

TEST(TimerQueue, ATimerAddedByACallbackWaitsForTheNextTurn) {
  TimerQueue timers;
  int rounds = 0;
  absl::AnyInvocable<void()> again;
  timers.Add(kStart, [&] {
    ++rounds;
    timers.Add(kStart, [&] { ++rounds; });
  });
  EXPECT_EQ(timers.RunExpired(kStart), 1);
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(timers.RunExpired(kStart), 1);
  EXPECT_EQ(rounds, 2);
}

TEST(TimerQueue, FewTimersComeAndGoWithoutMemory) {
  for (int others = 0; others < 8; ++others) {
    TimerQueue timers;
    for (int i = 0; i < others; ++i) timers.Add(kStart + absl::Seconds(i), [] {});
    timers.Cancel(timers.Add(kStart, [] {}));
    const uint64_t allocations = testing::AllocationsOf([&timers] {
      for (int i = 0; i < 100; ++i) timers.Cancel(timers.Add(kStart + absl::Milliseconds(i * 100), [] {}));
    });
    EXPECT_EQ(allocations, 0u) << others;
  }
}

}  // namespace
}  // namespace verbena::transport
