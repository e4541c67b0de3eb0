#include "transport/batch_splitter.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr int kShare = 16;

// So many messages in one turn, each answered; how many answers leave before its end.
int AnswersThatLeaveEarly(BatchSplitter& splitter, int messages, bool waited) {
  int early = 0;
  for (int i = 1; i <= messages; ++i) {
    splitter.OnMessage(waited);
    if (splitter.OnAnswer()) early = i;
  }
  splitter.OnTurnEnd();
  return early;
}

TEST(BatchSplitter, AfterAWaitHalfOfAsManyAsTheLastTimeLeaveEarly) {
  BatchSplitter splitter(kShare);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 0);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 8);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 8);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 5, true), 0);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 5, true), 2);
}

TEST(BatchSplitter, OneHasNoHalf) {
  BatchSplitter splitter(kShare);
  for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(AnswersThatLeaveEarly(splitter, 1, true), 0);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 0) << "whatever comes after it";
}

TEST(BatchSplitter, WithoutAWaitAllLeaveTogether) {
  BatchSplitter splitter(kShare);
  for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, false), 0);
}

TEST(BatchSplitter, TurnsWithoutMessagesAreNotCounted) {
  BatchSplitter splitter(kShare);
  AnswersThatLeaveEarly(splitter, 16, true);
  for (int turn = 0; turn < 10; ++turn) splitter.OnTurnEnd();
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 8);
}

TEST(BatchSplitter, MoreThanAShareIsLeftAlone) {
  BatchSplitter splitter(kShare);
  AnswersThatLeaveEarly(splitter, kShare, true);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, kShare + 1, true), kShare / 2);
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, kShare + 1, true), 0);
}

// What is sent outside of a turn with messages, by the user's own thread, waits for the turn's end as ever.
TEST(BatchSplitter, WhatAnswersNothingLeavesTogether) {
  BatchSplitter splitter(kShare);
  AnswersThatLeaveEarly(splitter, 16, true);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(splitter.OnAnswer());
  EXPECT_EQ(AnswersThatLeaveEarly(splitter, 16, true), 8) << "and takes nothing from the next turn";
}

// Two ends that answer each other, in simulated time: to answer takes 10, a doorbell costs 5 and is heard after 5. A
// turn has what has come when it begins.
class Ends {
 public:
  Ends(int in_flight, bool split) : split_(split) {
    for (int i = 0; i < in_flight; ++i) ends_[0].arrivals.push_back(0);
  }

  // Runs until both ends have answered `count` in all; how long that took, for each.
  double TimeForEach(int count) {
    while (answered_ < count) Turn(ends_[0].next_turn() <= ends_[1].next_turn() ? 0 : 1);
    return static_cast<double>(std::max(ends_[0].now, ends_[1].now)) / answered_;
  }
  double doorbells_for_each() const { return static_cast<double>(doorbells_) / answered_; }

 private:
  static constexpr int64_t kAnswer = 10;
  static constexpr int64_t kDoorbell = 5;
  static constexpr int64_t kLatency = 5;

  struct End {
    int64_t now = 0;
    std::deque<int64_t> arrivals;
    BatchSplitter splitter{kShare};
    int64_t next_turn() const { return arrivals.empty() ? INT64_MAX : std::max(now, arrivals.front()); }
  };

  void Turn(int index) {
    End& end = ends_[index];
    const bool waited = end.arrivals.front() > end.now;
    end.now = end.next_turn();
    int queued = 0;
    int batch = 0;
    for (const int64_t arrival : end.arrivals) batch += arrival <= end.now ? 1 : 0;
    for (int i = 0; i < batch; ++i) {
      end.arrivals.pop_front();
      end.splitter.OnMessage(waited);
      end.now += kAnswer;
      ++queued;
      const bool half = end.splitter.OnAnswer() && split_;
      if (half || queued == kShare) Ring(index, std::exchange(queued, 0));
    }
    end.splitter.OnTurnEnd();
    if (queued > 0) Ring(index, queued);
    answered_ += batch;
  }

  void Ring(int index, int answers) {
    ++doorbells_;
    ends_[index].now += kDoorbell;
    for (int i = 0; i < answers; ++i) ends_[1 - index].arrivals.push_back(ends_[index].now + kLatency);
  }

  const bool split_;
  End ends_[2];
  int answered_ = 0;
  int doorbells_ = 0;
};

constexpr int kMany = 100'000;

TEST(BatchSplitter, BothEndsWorkAtOnce) {
  for (const int in_flight : {4, 8, 16}) {
    Ends together(in_flight, false);
    Ends split(in_flight, true);
    EXPECT_LT(split.TimeForEach(kMany), 0.75 * together.TimeForEach(kMany)) << in_flight << " in flight";
  }
}

TEST(BatchSplitter, ManyMessagesShareADoorbellStill) {
  for (const int in_flight : {8, 16, 64}) {
    Ends split(in_flight, true);
    split.TimeForEach(kMany);
    EXPECT_LT(split.doorbells_for_each(), 4.0 / std::min(in_flight, 2 * kShare)) << in_flight << " in flight";
  }
}

TEST(BatchSplitter, OneInFlightIsAsEver) {
  Ends together(1, false);
  Ends split(1, true);
  EXPECT_EQ(split.TimeForEach(kMany), together.TimeForEach(kMany));
  EXPECT_EQ(split.doorbells_for_each(), 1);
}

}  // namespace
}  // namespace verbena::transport
