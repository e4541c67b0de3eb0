#include "transport/soft/copy_pace.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

using Occasion = CopyPace::Occasion;

// What a turn copies to its end.
uint64_t CopyInTurn(CopyPace& pace, Occasion occasion) {
  pace.BeginTurn(occasion);
  uint64_t copied = 0;
  for (uint64_t slice = pace.NextSlice(); slice > 0; slice = pace.NextSlice()) {
    pace.Copied(slice, false);
    copied += slice;
  }
  return copied;
}

TEST(CopyPace, SlicesGrowWhileNothingComes) {
  CopyPace pace;
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    pace.BeginTurn(Occasion::kTurn);
    const uint64_t slice = pace.NextSlice();
    EXPECT_GE(slice, last);
    EXPECT_LE(slice, CopyPace::kSliceMax);
    if (i < CopyPace::kShortSlices) {
      EXPECT_EQ(slice, CopyPace::kSliceMin);
    }
    pace.Copied(slice, false);
    last = slice;
  }
  EXPECT_EQ(last, CopyPace::kSliceMax);
}

TEST(CopyPace, TurnEndsInAnyCase) {
  CopyPace pace;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

TEST(CopyPace, TurnEndsWithTheSliceInWhichSomethingCame) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  pace.BeginTurn(Occasion::kTurn);
  pace.Copied(pace.NextSlice(), true);
  EXPECT_EQ(pace.NextSlice(), 0u);
}

TEST(CopyPace, MessageThatArrivedWaitsForNothingAndShortensTheSlices) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kArrival), 0u);
  CopyInTurn(pace, Occasion::kPost);
  pace.BeginTurn(Occasion::kTurn);
  EXPECT_EQ(pace.NextSlice(), CopyPace::kSliceMin);
}

TEST(CopyPace, MessagesThatArriveAllTheTimeDoNotStopACopy) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kArrival);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CopyInTurn(pace, Occasion::kPost), 0u);
    EXPECT_GT(CopyInTurn(pace, Occasion::kArrival) + CopyInTurn(pace, Occasion::kArrival), 0u) << i;
  }
}

TEST(CopyPace, WhoPollsAgainBeforeHeAnswersWaitsForNothing) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  CopyInTurn(pace, Occasion::kArrival);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), 0u);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

TEST(CopyPace, PostedAnswerIsTheEndOfAnswering) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  CopyInTurn(pace, Occasion::kArrival);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kPost), 0u);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

TEST(CopyPace, LimitHoldsForTheTurn) {
  CopyPace pace;
  pace.BeginTurn(Occasion::kTurn);
  pace.Limit(100);
  EXPECT_EQ(pace.NextSlice(), 100u);
  pace.Copied(60, false);
  pace.Limit(100);
  EXPECT_EQ(pace.NextSlice(), 40u);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

}  // namespace
}  // namespace verbena::soft
