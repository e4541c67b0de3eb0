#include "transport/soft/tick_pace.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

void Look(TickPace& pace, int times, uint32_t fewest_polls) {
  for (int i = 0; i < times; ++i) pace.OnLook(fewest_polls);
}

TEST(TickPace, LooksSeldomAfterManyLooksAtQueuesThatArePolledAllTheTime) {
  TickPace pace;
  EXPECT_EQ(pace.interval(), TickPace::kOften);
  Look(pace, TickPace::kLooksToSettle - 1, TickPace::kPollsMin);
  EXPECT_EQ(pace.interval(), TickPace::kOften);
  Look(pace, 1, TickPace::kPollsMin);
  EXPECT_EQ(pace.interval(), TickPace::kSeldom);
  Look(pace, 1'000'000, 1'000'000);
  EXPECT_EQ(pace.interval(), TickPace::kSeldom);
}

TEST(TickPace, LooksOftenAgainAsSoonAsAQueueIsPolledLess) {
  for (const uint32_t polls : {0u, 1u, TickPace::kPollsMin - 1}) {
    TickPace pace;
    Look(pace, TickPace::kLooksToSettle, TickPace::kPollsMin);
    Look(pace, 1, polls);
    EXPECT_EQ(pace.interval(), TickPace::kOften) << polls;
    Look(pace, TickPace::kLooksToSettle - 1, TickPace::kPollsMin);
    EXPECT_EQ(pace.interval(), TickPace::kOften) << polls << ": they are not in a row";
  }
}

TEST(TickPace, LooksAtAllPairsIfAQueueIsNotPolled) {
  TickPace pace;
  EXPECT_EQ(pace.PairsToLookAt(10'000), 10'000u);
  Look(pace, 1, 1);
  EXPECT_LT(pace.PairsToLookAt(10'000), 10'000u);
  Look(pace, 1, 0);
  EXPECT_EQ(pace.PairsToLookAt(10'000), 10'000u);
}

TEST(TickPace, LooksAtSomePairsAtATimeOfManyWhoseQueuesArePolled) {
  TickPace pace;
  Look(pace, 1, 1);
  EXPECT_EQ(pace.PairsToLookAt(0), 0u);
  for (const size_t few : {size_t{1}, TickPace::kPairsOfALook}) EXPECT_EQ(pace.PairsToLookAt(few), few);
  EXPECT_EQ(pace.PairsToLookAt(1000), TickPace::kPairsOfALook);
  for (size_t pairs = 1; pairs < 20'000; pairs += 97) {
    EXPECT_GE(TickPace::kLooksForAll * pace.PairsToLookAt(pairs), pairs);
  }
}

TEST(TickPace, NeverSettlesWhileTheApplicationIsSlow) {
  TickPace pace;
  for (int i = 0; i < 1000; ++i) {
    Look(pace, TickPace::kLooksToSettle - 1, TickPace::kPollsMin);
    Look(pace, 1, TickPace::kPollsMin - 1);
    EXPECT_FALSE(pace.settled());
  }
}

}  // namespace
}  // namespace verbena::soft
