#include "transport/soft/read_asking.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

constexpr uint64_t kLong = 1 << 20;
constexpr ReadAsking::Clock::time_point kStart{};

// Asks for one part of a long READ, which is answered after so long.
void AskOnce(ReadAsking& asking, ReadAsking::Clock::duration answer_time) {
  asking.OnAsked(asking.NextPart(kLong, kLong), kStart);
  asking.OnAnswered(1, ReadAsking::kPrompt, kStart + answer_time);
}

// How many slices are copied before the peer is asked again.
uint32_t SlicesAlone(ReadAsking& asking) {
  uint32_t slices = 0;
  for (; !asking.MayAsk(); ++slices) asking.OnCopied();
  return slices;
}

void SendMany(ReadAsking& asking) {
  for (uint32_t i = 0; i < ReadAsking::kMessagesMany; ++i) asking.OnMessage();
}

TEST(ReadAsking, PartsOnTheirWayAreLimited) {
  ReadAsking asking;
  for (uint64_t i = 0; i < ReadAsking::kPartsMax; ++i) {
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
    asking.OnAsked(ReadAsking::kPartBytesMax, kStart);
  }
  EXPECT_EQ(asking.NextPart(kLong, kLong), 0u);
  asking.OnAnswered(1, ReadAsking::kPrompt, kStart);
  EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
}

TEST(ReadAsking, LastPartIsWhatIsLeft) { EXPECT_EQ(ReadAsking().NextPart(kLong, 100), 100u); }

TEST(ReadAsking, WhileMessagesGoAheadLongReadsAreAskedForInFewShortParts) {
  ReadAsking asking;
  SendMany(asking);
  for (uint64_t i = 0; i < ReadAsking::kPartsMaxNarrow; ++i) {
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesNarrow);
    asking.OnAsked(ReadAsking::kPartBytesNarrow, kStart);
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
    asking.OnMessage();
    EXPECT_EQ(asking.NextPart(kLong, kLong), ReadAsking::kPartBytesMax);
    for (int part = 0; part < 4; ++part) AskOnce(asking, {});
  }
}

TEST(ReadAsking, WhoAnswersLateIsNotAskedForAWhileEachTimeTwiceAsLong) {
  ReadAsking asking;
  const auto late = 2 * ReadAsking::kPrompt;
  for (uint32_t slices = ReadAsking::kSlicesAloneMin; slices <= ReadAsking::kSlicesAloneMax; slices *= 2) {
    AskOnce(asking, late);
    EXPECT_EQ(SlicesAlone(asking), slices);
  }
  AskOnce(asking, late);
  EXPECT_EQ(SlicesAlone(asking), ReadAsking::kSlicesAloneMax);
}

TEST(ReadAsking, PromptAnswersMakeUpForLateOnes) {
  ReadAsking asking;
  for (int i = 0; i < 3; ++i) {
    AskOnce(asking, 2 * ReadAsking::kPrompt);
    SlicesAlone(asking);
  }
  for (int i = 0; i < 3; ++i) AskOnce(asking, ReadAsking::kPrompt);
  EXPECT_TRUE(asking.MayAsk());
  AskOnce(asking, 2 * ReadAsking::kPrompt);
  EXPECT_EQ(SlicesAlone(asking), ReadAsking::kSlicesAloneMin);
}

TEST(ReadAsking, AnswersToWhatWasNotAskedForHereCountForNothing) {
  ReadAsking asking;
  asking.OnAnswered(3, ReadAsking::kPrompt, kStart);
  for (uint64_t i = 0; i < ReadAsking::kPartsMax; ++i) asking.OnAsked(1, kStart);
  EXPECT_EQ(asking.NextPart(kLong, kLong), 0u);
}

}  // namespace
}  // namespace verbena::soft
