#include "transport/early_wakes.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class EarlyWakesTest : public testing::Test {
 protected:
  // Sleeps, with a SEND in flight. What wakes the loop, if it may, is that SEND's completion; `answers` arrive after
  // it, before the loop sleeps again. Returns whether it woke for the SEND.
  bool Sleep(uint64_t answers) {
    wakes_.OnSleep(received_);
    const bool wakes = wakes_.Wanted();
    if (wakes) {
      wakes_.OnWoken(received_);
      wakes_.OnPolled(/*own=*/true);
    }
    received_ += answers;
    return wakes;
  }
  int WakesOf(int sleeps, uint64_t answers) {
    int wakes = 0;
    for (int i = 0; i < sleeps; ++i) wakes += Sleep(answers) ? 1 : 0;
    return wakes;
  }

  EarlyWakes wakes_;
  uint64_t received_ = 0;
};

TEST_F(EarlyWakesTest, AreKeptWhereAnswersFollow) { EXPECT_EQ(WakesOf(1000, 1), 1000); }

TEST_F(EarlyWakesTest, AreGivenUpButForATrialWhereNothingFollows) {
  WakesOf(100, 0);
  EXPECT_EQ(WakesOf(32 * 10, 0), 10);
}

TEST_F(EarlyWakesTest, ComeBackWhenAnswersFollowAgain) {
  WakesOf(100, 0);
  WakesOf(static_cast<int>(EarlyWakes::kSleepsPerTrial), 1);  // One trial.
  EXPECT_EQ(WakesOf(100, 1), 100);
}

TEST_F(EarlyWakesTest, AFewForNothingAreForgiven) {
  WakesOf(100, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Sleep(0));
    EXPECT_TRUE(Sleep(1));
  }
}

// Woken by what arrived: it says nothing of early wakes.
TEST_F(EarlyWakesTest, AWakeThatBroughtSomethingIsNotJudged) {
  for (int i = 0; i < 100; ++i) {
    wakes_.OnSleep(received_);
    EXPECT_TRUE(wakes_.Wanted());
    wakes_.OnWoken(received_);
    EXPECT_TRUE(wakes_.judging());
    wakes_.OnPolled(/*own=*/false);
    EXPECT_FALSE(wakes_.judging());
  }
}

TEST_F(EarlyWakesTest, AWakeNobodyAskedForIsNotJudged) {
  for (int i = 0; i < 100; ++i) {
    wakes_.OnSleep(received_);
    wakes_.OnWoken(received_);
    EXPECT_FALSE(wakes_.judging());
  }
  EXPECT_TRUE(Sleep(0));
}

// The poll between arming and sleeping.
TEST_F(EarlyWakesTest, ASleepThatWasNotSleptIsNotJudged) {
  for (int i = 0; i < 100; ++i) {
    wakes_.OnSleep(received_);
    EXPECT_TRUE(wakes_.Wanted());
    wakes_.OnPolled(/*own=*/true);
    wakes_.OnWoken(received_);  // By the event of what that poll has taken.
    EXPECT_FALSE(wakes_.judging());
  }
  EXPECT_TRUE(Sleep(0));
}

}  // namespace
}  // namespace verbena::transport
