// Both sides of a signal on threads of their own. Run under TSan.

#include "rpc/cancel/cancel_signal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <thread>

namespace verbena::rpc {
namespace {

constexpr int kRounds = 2000;

TEST(CancelSignal, RunsTheCallbackExactlyOnceWhicheverSideComesFirst) {
  for (int i = 0; i < kRounds; ++i) {
    CancelSignal signal;
    int runs = 0;
    std::latch start(2);
    std::thread loop([&] {
      start.arrive_and_wait();
      signal.Cancel();
    });
    start.arrive_and_wait();
    signal.SetCallback([&runs] { ++runs; });
    loop.join();
    EXPECT_TRUE(signal.cancelled());
    EXPECT_EQ(runs, 1);
  }
}

TEST(CancelSignal, DoesNotRunTheCallbackWhileOrAfterTheHandlerFinishes) {
  for (int i = 0; i < kRounds; ++i) {
    CancelSignal signal;
    auto of_the_handler = std::make_unique<int>(0);
    signal.SetCallback([&of_the_handler] { ++*of_the_handler; });
    std::latch start(2);
    std::thread loop([&] {
      start.arrive_and_wait();
      signal.Cancel();
    });
    start.arrive_and_wait();
    signal.Finish();
    EXPECT_LE(*of_the_handler, 1);
    of_the_handler = nullptr;
    loop.join();
  }
}

TEST(CancelSignal, FinishAndReplacementWaitForACallbackThatRuns) {
  for (const bool replaced : {false, true}) {
    CancelSignal signal;
    int runs = 0;
    std::latch running(1), go_on(1);
    signal.SetCallback([&] {
      running.count_down();
      go_on.wait();
      ++runs;
    });
    std::thread loop([&signal] { signal.Cancel(); });
    running.wait();
    std::thread releaser([&go_on] { go_on.count_down(); });
    if (replaced) signal.SetCallback(nullptr);
    if (!replaced) signal.Finish();
    EXPECT_EQ(runs, 1);
    releaser.join();
    loop.join();
  }
}

TEST(CancelSignal, CallbackMayFinishAndEndTheLifeOfTheSignal) {
  auto signal = std::make_unique<CancelSignal>();
  int runs = 0;
  signal->SetCallback([&] {
    signal->Finish();
    signal = nullptr;
    ++runs;
  });
  signal->Cancel();
  EXPECT_EQ(runs, 1);
}

// It finishes while somebody waits for it to return, and only then may that one go on.
TEST(CancelSignal, CallbackMayFinishWhileAReplacementWaitsForIt) {
  CancelSignal signal;
  std::latch entered(1);
  signal.SetCallback([&] {
    entered.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // Until it waits, most often.
    signal.Finish();
  });
  std::thread loop([&] { signal.Cancel(); });
  entered.wait();
  signal.SetCallback(nullptr);
  loop.join();
}

TEST(CancelSignal, CallbackMaySetAnother) {
  CancelSignal signal;
  int runs = 0;
  signal.SetCallback([&] { signal.SetCallback([&runs] { ++runs; }); });
  signal.Cancel();
  EXPECT_EQ(runs, 1);
}

TEST(CancelSignal, AfterFinishACancelIsNotedAndTellsNobody) {
  CancelSignal signal;
  int runs = 0;
  signal.SetCallback([&runs] { ++runs; });
  signal.Finish();
  signal.Cancel();
  EXPECT_TRUE(signal.cancelled());
  EXPECT_EQ(runs, 0);
  signal.Reset();
  EXPECT_FALSE(signal.cancelled());
}

}  // namespace
}  // namespace verbena::rpc
