#include "transport/soft/copy_pace.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

using Occasion = CopyPace::Occasion;

constexpr uint64_t kMuch = 100 * CopyPace::kTurnMax;

// What a turn copies, of a copy that has so many bytes left.
uint64_t CopyInTurn(CopyPace& pace, Occasion occasion, uint64_t bytes = kMuch) {
  pace.BeginTurn(occasion);
  uint64_t left = bytes;
  for (uint64_t slice = pace.NextSlice(left); slice > 0; slice = pace.NextSlice(left)) {
    pace.Copied(slice, false);
    left -= slice;
  }
  return bytes - left;
}

TEST(CopyPace, SlicesGrowWhileNothingComes) {
  CopyPace pace;
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    pace.BeginTurn(Occasion::kTurn);
    const uint64_t slice = pace.NextSlice(kMuch);
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
  pace.Copied(pace.NextSlice(kMuch), true);
  EXPECT_EQ(pace.NextSlice(kMuch), 0u);
}

TEST(CopyPace, MessageThatArrivedWaitsForNothingAndShortensTheSlices) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kArrival), 0u);
  CopyInTurn(pace, Occasion::kPost);
  pace.BeginTurn(Occasion::kTurn);
  EXPECT_EQ(pace.NextSlice(kMuch), CopyPace::kSliceMin);
}

TEST(CopyPace, MessagesThatArriveAllTheTimeDoNotStopACopy) {
  CopyPace pace;
  constexpr int kTurns = 10 * CopyPace::kTurnsInHaste;
  uint64_t copied = 0;
  for (int i = 0; i < kTurns; ++i) {
    copied += CopyInTurn(pace, i % 2 == 0 ? Occasion::kArrival : Occasion::kTurn);
    CopyInTurn(pace, Occasion::kPost);
  }
  EXPECT_GE(copied, 5 * CopyPace::kInHaste);
  copied = 0;
  for (int i = 0; i < kTurns; ++i) copied += CopyInTurn(pace, Occasion::kArrival);
  EXPECT_EQ(copied, 10 * CopyPace::kInHaste);
}

TEST(CopyPace, WhoPollsAgainBeforeHeAnswersWaitsForNothing) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  CopyInTurn(pace, Occasion::kArrival);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), 0u);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

TEST(CopyPace, PostingCallDoesWhatIsDoneAtOnce) {
  CopyPace pace;
  EXPECT_EQ(CopyInTurn(pace, Occasion::kPost, CopyPace::kAtOnce), CopyPace::kAtOnce);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kPost, CopyPace::kAtOnce + 1), 0u);
}

TEST(CopyPace, MessageThatIsSentShortensTheSlices) {
  CopyPace pace;
  CopyInTurn(pace, Occasion::kTurn);
  CopyInTurn(pace, Occasion::kPost);
  pace.BeginTurn(Occasion::kTurn);
  EXPECT_EQ(pace.NextSlice(kMuch), CopyPace::kSliceMax);
  pace.OnMessage();
  EXPECT_EQ(pace.NextSlice(kMuch), CopyPace::kSliceMin);
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
  EXPECT_EQ(pace.NextSlice(kMuch), 100u);
  pace.Copied(60, false);
  pace.Limit(100);
  EXPECT_EQ(pace.NextSlice(kMuch), 40u);
  EXPECT_EQ(CopyInTurn(pace, Occasion::kTurn), CopyPace::kTurnMax);
}

}  // namespace
}  // namespace verbena::soft
