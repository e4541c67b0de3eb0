#include "transport/soft/read_asking.h"

#include "gtest/gtest.h"
#include "transport/soft/record.h"

namespace verbena::soft {
namespace {

constexpr uint64_t kLong = 32 * ReadAsking::kPartBytesMax;
constexpr ReadAsking::Clock::time_point kStart{};

// Asks for one part of a long READ, which is answered after so long, and so many looks.
void AskOnce(ReadAsking& asking, ReadAsking::Clock::duration answer_time, uint32_t looks = ReadAsking::kLooksMin) {
  asking.OnAsked(asking.NextPart(kLong, kLong), kStart, 0);
  asking.OnAnswered(1, ReadAsking::kPrompt, kStart + answer_time, looks);
}

void SendMany(ReadAsking& asking) {
  for (uint32_t i = 0; i < ReadAsking::kMessagesMany; ++i) asking.OnMessage(kStart);
}

TEST(ReadAsking, PartsOnTheirWayAreLimited) {
  ReadAsking asking;
  for (uint64_t i = 0; i < ReadAsking::kPartsMax; ++i) {
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
    asking.OnAsked(ReadAsking::kPartBytesMax, kStart, 0);
  }
  EXPECT_EQ(asking.NextPart(kLong, kLong), 0u);
  asking.OnAnswered(1, ReadAsking::kPrompt, kStart, 0);
  EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
}

TEST(ReadAsking, PartsAreOfOneLength) {
  constexpr uint64_t kLength = 128 * 1024;
  const uint64_t part = ReadAsking().NextPart(kLength, kLength);
  EXPECT_LT(part * 4, kLength);
  EXPECT_GE(part * 5, kLength);
  EXPECT_LT(part * 5, kLength + 5 * kCacheLineBytes);
}

TEST(ReadAsking, ShortOnesAreAskedForWholeAndManyAtATime) {
  ReadAsking asking;
  for (uint64_t i = 0; i < ReadAsking::kShortMax; ++i) {
    EXPECT_EQ(asking.NextPart(ReadAsking::kShortBytes, ReadAsking::kShortBytes), ReadAsking::kShortBytes);
    asking.OnAsked(ReadAsking::kShortBytes, kStart, 0);
  }
  EXPECT_EQ(asking.NextPart(ReadAsking::kShortBytes, ReadAsking::kShortBytes), 0u);
}

TEST(ReadAsking, LastPartIsWhatIsLeft) { EXPECT_EQ(ReadAsking().NextPart(kLong, 100), 100u); }

TEST(ReadAsking, WhileMessagesGoAheadLongReadsAreAskedForInFewShortParts) {
  ReadAsking asking;
  SendMany(asking);
  for (uint64_t i = 0; i < ReadAsking::kPartsMaxNarrow; ++i) {
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesNarrow);
    asking.OnAsked(ReadAsking::kPartBytesNarrow, kStart, 0);
  }
  EXPECT_EQ(asking.NextPart(kLong, kLong), 0u);
  EXPECT_EQ(asking.NextPart(1024, 1024), 1024u) << "a short one";
}

TEST(ReadAsking, AndAsBeforeWhenFewDid) {
  ReadAsking asking;
  for (int round = 0; round < 3; ++round) {
    SendMany(asking);
    uint64_t bytes = 0;
    for (; asking.NextPart(kLong, kLong) == ReadAsking::kPartBytesNarrow; bytes += ReadAsking::kPartBytesNarrow) {
      AskOnce(asking, {});
    }
    EXPECT_GE(bytes, ReadAsking::kCountedBytes);
    EXPECT_LE(bytes, 2 * ReadAsking::kCountedBytes);
  }
}

TEST(ReadAsking, MessageNowAndThenChangesNothing) {
  ReadAsking asking;
  for (uint32_t i = 0; i < 2 * ReadAsking::kMessagesMany; ++i) {
    asking.OnMessage(kStart);
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
    for (int part = 0; part < 4; ++part) AskOnce(asking, {});
  }
}

TEST(ReadAsking, WhoAnswersLateIsNotAskedForManyTimesAsLong) {
  ReadAsking asking;
  const auto late = 2 * ReadAsking::kPrompt;
  AskOnce(asking, late);
  const auto again_at = kStart + late + ReadAsking::kPauseFactor * late;
  EXPECT_FALSE(asking.MayAsk(again_at - std::chrono::nanoseconds(1)));
  EXPECT_TRUE(asking.MayAsk(again_at));
}

TEST(ReadAsking, OneLateAnswerOfManyIsAsManyLateOnes) {
  ReadAsking asking;
  const auto late = 2 * ReadAsking::kPrompt;
  for (uint64_t i = 0; i < ReadAsking::kPartsMax; ++i) asking.OnAsked(1, kStart, 0);
  asking.OnAnswered(ReadAsking::kPartsMax, ReadAsking::kPrompt, kStart + late, ReadAsking::kLooksMin);
  EXPECT_TRUE(asking.MayAsk(kStart + late + ReadAsking::kPauseFactor * late));
}

TEST(ReadAsking, PromptAnswersPauseNothing) {
  ReadAsking asking;
  AskOnce(asking, ReadAsking::kPrompt);
  EXPECT_TRUE(asking.MayAsk(kStart));
}

TEST(ReadAsking, WhoDidNotLookCannotSayThatThePeerWasLate) {
  ReadAsking asking;
  AskOnce(asking, std::chrono::seconds(1), ReadAsking::kLooksMin - 1);
  EXPECT_TRUE(asking.MayAsk(kStart));
}

TEST(ReadAsking, AllPartsOnTheirWayFitTheResponseRing) {
  const uint64_t cut = RecordBytes(sizeof(RecordHeader));  // The end of the ring cuts one of them.
  EXPECT_LE(ReadAsking::kPartsMax * RecordBytes(sizeof(RecordHeader) + ReadAsking::kPartBytesMax) + cut, kRingBytes);
  EXPECT_LE(ReadAsking::kPartBytesMax, kFragmentBytesMax);
}

TEST(ReadAsking, AnswersToWhatWasNotAskedForHereCountForNothing) {
  ReadAsking asking;
  asking.OnAnswered(3, ReadAsking::kPrompt, kStart, 0);
  for (uint64_t i = 0; i < ReadAsking::kPartsMax; ++i) asking.OnAsked(1, kStart, 0);
  EXPECT_EQ(asking.NextPart(kLong, kLong), 0u);
}

}  // namespace
}  // namespace verbena::soft
