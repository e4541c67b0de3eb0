#include "transport/event_loop.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "gtest/gtest.h"
#include "transport/epoll_event_loop.h"

namespace verbena::transport {
namespace {

std::unique_ptr<EventLoop> MakeLoop(WaitPolicy wait) {
  EventLoopOptions options;
  options.wait = wait;
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create(options);
  EXPECT_TRUE(loop.ok()) << loop.status();
  return *std::move(loop);
}

// Shows one item, but only to the Poll that follows the first Arm: what a completion does that arrives just before the
// arming.
class LateSource : public PollSource {
 public:
  int Poll() override {
    if (!armed_ || seen_) return 0;
    seen_ = true;
    return 1;
  }
  void Arm() override { armed_ = true; }
  void OnReadable(int) override {}
  bool seen() const { return seen_; }

 private:
  bool armed_ = false;
  bool seen_ = false;
};

class FdSource : public PollSource {
 public:
  explicit FdSource(int fd) : fd_(fd) {}
  int Poll() override { return 0; }
  void Arm() override {}
  void OnReadable(int fd) override {
    uint64_t value = 0;
    EXPECT_EQ(fd, fd_);
    EXPECT_EQ(read(fd, &value, sizeof(value)), static_cast<ssize_t>(sizeof(value)));
    total += value;
  }
  uint64_t total = 0;

 private:
  const int fd_;
};

class EventLoopWithPolicy : public testing::TestWithParam<WaitPolicy> {};

TEST_P(EventLoopWithPolicy, TasksRunInOrderOfPostingOnTheLoopsThread) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(GetParam());
  std::thread thread([&] { loop->RunUntil([] { return false; }); });
  std::vector<int> order;
  std::promise<bool> in_thread;
  for (int i = 0; i < 100; ++i) loop->Post([&order, i] { order.push_back(i); });
  loop->Post([&] { in_thread.set_value(loop->InLoopThread()); });
  EXPECT_TRUE(in_thread.get_future().get());
  EXPECT_FALSE(loop->InLoopThread());
  loop->Stop();
  thread.join();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST_P(EventLoopWithPolicy, ATimerRunsWhenItsTimeHasComeAndNotBefore) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(GetParam());
  const absl::Time when = loop->Now() + absl::Milliseconds(5);
  bool ran = false;
  loop->AddTimer(when, [&] {
    ran = true;
    EXPECT_GE(loop->Now(), when);
  });
  loop->RunUntil([&] { return ran; });
}

TEST_P(EventLoopWithPolicy, AReadableFileDescriptorReachesItsSource) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(GetParam());
  const int fd = eventfd(3, EFD_NONBLOCK);
  FdSource source(fd);
  loop->AddSource(&source);
  ASSERT_TRUE(loop->AddFd(fd, &source).ok());
  loop->RunUntil([&] { return source.total == 3; });
  loop->RemoveFd(fd, &source);
  loop->RemoveSource(&source);
  close(fd);
}

TEST_P(EventLoopWithPolicy, AFileDescriptorGoesOverToTheSourceThatAddsItLast) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(GetParam());
  const int fd = eventfd(3, EFD_NONBLOCK);
  FdSource first(fd);
  FdSource second(fd);
  ASSERT_EQ(loop->AddFd(fd, &first), absl::OkStatus());
  ASSERT_EQ(loop->AddFd(fd, &second), absl::OkStatus());
  loop->RemoveFd(fd, &first);  // Has it no more.
  loop->RunUntil([&] { return second.total == 3; });
  EXPECT_EQ(first.total, 0u);
  loop->RemoveFd(fd, &second);
  close(fd);
}

TEST_P(EventLoopWithPolicy, StopEndsALoopThatSleeps) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(GetParam());
  std::thread thread([&] { loop->RunUntil([] { return false; }); });
  loop->Stop();
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Policies, EventLoopWithPolicy,
                         testing::Values(WaitPolicy::kBusy, WaitPolicy::kEvent, WaitPolicy::kAdaptive));

TEST(EventLoop, WhatArrivesBetweenPollingAndArmingIsSeenBeforeItSleeps) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kEvent);
  LateSource source;
  loop->AddSource(&source);
  loop->RunUntil([&] { return source.seen(); });  // Would sleep for ever otherwise.
  EXPECT_TRUE(source.seen());
}

TEST(EventLoop, WhatASourceIsToldAfterASleepItDatesAfterTheSleep) {
  // Reads Now() when its descriptor is readable.
  class Dating : public PollSource {
   public:
    explicit Dating(EventLoop* loop) : loop_(loop) {}
    int Poll() override { return 0; }
    void Arm() override {}
    void OnReadable(int) override { when = loop_->Now(); }
    absl::Time when = absl::InfinitePast();

   private:
    EventLoop* const loop_;
  };
  constexpr absl::Duration kSleep = absl::Milliseconds(20);
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kEvent);
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  Dating source(loop.get());
  loop->AddSource(&source);
  ASSERT_TRUE(loop->AddFd(fd, &source).ok());
  itimerspec ring = {};
  ring.it_value = absl::ToTimespec(kSleep);
  const absl::Time before = loop->Now();
  ASSERT_EQ(timerfd_settime(fd, 0, &ring, nullptr), 0);
  loop->RunUntil([&] { return source.when != absl::InfinitePast(); });
  EXPECT_GE(source.when - before, kSleep);
  loop->RemoveFd(fd, &source);
  loop->RemoveSource(&source);
  close(fd);
}

TEST(EventLoop, AnInstantReadAnewIsNotBeforeWhatHeldUpTheTurn) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  bool ran = false;
  loop->Post([&] {
    const absl::Time turn_began = loop->Now();
    absl::SleepFor(absl::Milliseconds(20));
    EXPECT_EQ(loop->Now(), turn_began);
    EXPECT_GE(loop->ReadNow(), turn_began + absl::Milliseconds(19));
    EXPECT_GE(loop->Now(), turn_began + absl::Milliseconds(19));
    ran = true;
  });
  loop->RunUntil([&] { return ran; });
}

TEST(EventLoop, TimersOfATurnRunByOneInstantHoweverLongOneOfThemTakes) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  std::vector<absl::Time> due;
  const absl::Time when = loop->ReadNow();
  for (int i = 0; i < 2; ++i) {
    loop->AddTimer(when, [&] {
      due.push_back(loop->Due());
      absl::SleepFor(absl::Milliseconds(20));
      EXPECT_GE(loop->ReadNow(), loop->Due() + absl::Milliseconds(19));
    });
  }
  loop->RunUntil([&] { return due.size() == 2; });
  EXPECT_EQ(due[0], due[1]);
  EXPECT_GE(due[0], when);
}

TEST(EventLoop, TheWallClockIsReadOnceForEachReadingOfNow) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  bool ran = false;
  loop->Post([&] {
    const absl::Time turn_began = loop->WallNow();
    absl::SleepFor(absl::Milliseconds(20));
    EXPECT_EQ(loop->WallNow(), turn_began);
    loop->ReadNow();
    EXPECT_GE(loop->WallNow(), turn_began + absl::Milliseconds(19));
    const absl::Time read = loop->Now();
    absl::SleepFor(absl::Milliseconds(20));
    EXPECT_GE(loop->RecentNow(), read + absl::Milliseconds(19));
    ran = true;
  });
  loop->RunUntil([&] { return ran; });
}

TEST(EventLoop, TheWallClockGoesOnWhereTheLoopDoesNotRun) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  const absl::Time before = loop->WallNow();
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_GE(loop->WallNow(), before + absl::Milliseconds(19));
}

TEST(EventLoop, AReadableDescriptorWaitsForFewLongTurns) {
  // Always has something to do, and takes its time.
  class Slow : public FdSource {
   public:
    using FdSource::FdSource;
    int Poll() override {
      absl::SleepFor(absl::Milliseconds(20));
      ++polls;
      return 1;
    }
    int polls = 0;
  };
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kBusy);
  const int fd = eventfd(0, EFD_NONBLOCK);
  Slow source(fd);
  loop->AddSource(&source);
  ASSERT_EQ(loop->AddFd(fd, &source), absl::OkStatus());
  loop->RunUntil([&] { return source.polls == 5; });
  const uint64_t one = 1;
  ASSERT_EQ(write(fd, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  loop->RunUntil([&] { return source.total == 1 || source.polls == 100; });
  EXPECT_EQ(source.total, 1u);
  EXPECT_LE(source.polls, 5 + 4);  // 50 ms have passed in three.
  loop->RemoveFd(fd, &source);
  loop->RemoveSource(&source);
  close(fd);
}

TEST(EventLoop, WhatCameDuringALongTurnIsHandledBeforeTheTimersThatWaitForIt) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kBusy);
  const int fd = eventfd(0, EFD_NONBLOCK);
  FdSource source(fd);
  loop->AddSource(&source);
  ASSERT_EQ(loop->AddFd(fd, &source), absl::OkStatus());
  bool looked = false;
  loop->Post([&] { looked = true; });
  loop->RunUntil([&] { return looked; });  // The first turn looks in any case.
  bool expired = false;
  loop->Post([&] {
    loop->AddTimer(loop->ReadNow() + absl::Milliseconds(5), [&] {
      expired = true;
      EXPECT_EQ(source.total, 1u);
    });
    const uint64_t one = 1;
    EXPECT_EQ(write(fd, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    absl::SleepFor(absl::Milliseconds(20));
  });
  loop->RunUntil([&] { return expired; });
  loop->RemoveFd(fd, &source);
  loop->RemoveSource(&source);
  close(fd);
}

TEST(EventLoop, WhatIsKeptForItIsDestroyedWhenItIsDroppedAndTheRestWithTheLoop) {
  std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kEvent);
  const std::shared_ptr<int> values[] = {std::make_shared<int>(0), std::make_shared<int>(1)};
  for (const std::shared_ptr<int>& value : values) loop->Local(&value) = value;
  loop->DropLocal(&values[0]);
  EXPECT_EQ(values[0].use_count(), 1);
  EXPECT_EQ(values[1].use_count(), 2);
  loop->DropLocal(&values[0]);  // There is nothing.
  loop.reset();
  EXPECT_EQ(values[1].use_count(), 1);
}

// Of those who find it asleep one wakes it, whoever it is.
TEST(EventLoop, NoTaskOfManyThreadsFindsALoopThatSleepsOn) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 2000;
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kEvent);
  std::thread looping([&] { loop->RunUntil([] { return false; }); });
  std::atomic<int> late = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds && late == 0; ++round) {  // Each waits for its own, so that the loop sleeps.
        auto ran = std::make_shared<std::promise<void>>();
        loop->Post([ran] { ran->set_value(); });
        if (ran->get_future().wait_for(std::chrono::seconds(20)) != std::future_status::ready) ++late;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(late, 0);
  loop->Stop();
  looping.join();
}

TEST(EventLoop, AnIdleLoopThatWaitsForEventsUsesNoProcessor) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kAdaptive);
  bool ran = false;
  loop->AddTimer(loop->Now() + absl::Milliseconds(300), [&] { ran = true; });
  rusage before;
  rusage after;
  getrusage(RUSAGE_THREAD, &before);
  loop->RunUntil([&] { return ran; });
  getrusage(RUSAGE_THREAD, &after);
  const absl::Duration used = absl::DurationFromTimeval(after.ru_utime) - absl::DurationFromTimeval(before.ru_utime);
  EXPECT_LT(used, absl::Milliseconds(30));
}

// Has an item at every so many polls, and at the one that follows an Arm. Of period 0: none ever.
class SteadySource : public PollSource {
 public:
  explicit SteadySource(int period) : period_(period) {}
  int Poll() override {
    ++polls;
    if (period_ == 0 || (!std::exchange(armed_, false) && polls % period_ != 0)) return 0;
    ++items;
    return 1;
  }
  void Arm() override {
    armed_ = true;
    ++arms;
  }
  void OnReadable(int) override {}
  int polls = 0;
  int items = 0;
  int arms = 0;  // The loop would have slept.

 private:
  const int period_;
  bool armed_ = false;
};

TEST(EventLoop, AnAdaptiveLoopWithSteadyWorkDoesNotTryToSleep) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kAdaptive);
  SteadySource source(/*period=*/20);
  loop->AddSource(&source);
  loop->RunUntil([&] { return source.items == 10000; });
  EXPECT_LT(source.arms, 1000);  // Only where the machine took the processor away for long.
}

TEST(EventLoop, AnAdaptiveLoopWithSeldomWorkDoesNotPollForIt) {
  const std::unique_ptr<EventLoop> loop = MakeLoop(WaitPolicy::kAdaptive);
  SteadySource source(/*period=*/0);
  loop->AddSource(&source);
  int ticks = 0;
  int polls_before = 0;
  constexpr int kLearning = 20;
  constexpr int kTicks = 100;
  absl::AnyInvocable<void()> tick = [&] {
    if (++ticks == kLearning) polls_before = source.polls;
    loop->AddTimer(loop->Now() + absl::Milliseconds(1), [&] { tick(); });
  };
  tick();
  loop->RunUntil([&] { return ticks == kTicks; });
  // At each tick one with the timer, one that finds nothing, and one after arming; to poll for 50 us would be hundreds.
  EXPECT_LE(source.polls - polls_before, 5 * (kTicks - kLearning));
}

TEST(EventLoop, ANegativePollDurationIsRejected) {
  EventLoopOptions options;
  options.poll_duration = absl::Microseconds(-1);
  EXPECT_EQ(EventLoop::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbena::transport
