#include "transport/memory_budget.h"

#include <string>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class MemoryBudgetTest : public testing::Test {
 protected:
  MemoryBudget::Ticket Request(uint64_t bytes, char name) {
    if (budget_.TakeAtOnce(bytes)) {
      granted_ += name;
      return MemoryBudget::kNone;
    }
    return budget_.Request(bytes, now_, [this, name](MemoryBudget::Answer answer) {
      (answer == MemoryBudget::Answer::kGranted ? granted_ : denied_) += name;
    });
  }

  Counter in_use_;
  MemoryBudget budget_{100, &in_use_};
  absl::Time now_ = absl::UnixEpoch();
  std::string granted_;
  std::string denied_;
};

TEST_F(MemoryBudgetTest, WhatFitsIsGrantedAtOnce) {
  Request(60, 'a');
  Request(40, 'b');
  EXPECT_EQ(granted_, "ab");
  EXPECT_EQ(in_use_.value(), 100u);
}

TEST_F(MemoryBudgetTest, WhatFitsIsTakenAtOnce) {
  EXPECT_TRUE(budget_.TakeAtOnce(60));
  EXPECT_FALSE(budget_.TakeAtOnce(50));
  EXPECT_EQ(in_use_.value(), 60u);
  budget_.Return(60, now_);
  EXPECT_TRUE(budget_.TakeAtOnce(1000)) << "more than all, where nothing else is in use";
}

TEST_F(MemoryBudgetTest, WhoTakesAtOnceOvertakesNobody) {
  Request(80, 'a');
  Request(50, 'b');
  EXPECT_FALSE(budget_.TakeAtOnce(10));
  EXPECT_EQ(in_use_.value(), 80u);
}

TEST_F(MemoryBudgetTest, WhatDoesNotFitWaitsForAReturnInOrderOfAsking) {
  Request(80, 'a');
  Request(50, 'b');
  Request(10, 'c');  // Would fit, but must not overtake.
  EXPECT_EQ(granted_, "a");
  budget_.Return(80, now_);
  EXPECT_EQ(granted_, "abc");
  EXPECT_EQ(budget_.in_use(), 60u);
}

TEST_F(MemoryBudgetTest, ARequestLargerThanTheBudgetIsServedAlone) {
  Request(10, 'a');
  Request(1000, 'b');
  EXPECT_EQ(granted_, "a");
  budget_.Return(10, now_);
  EXPECT_EQ(granted_, "ab");
  Request(1, 'c');
  EXPECT_EQ(granted_, "ab");
  budget_.Return(1000, now_);
  EXPECT_EQ(granted_, "abc");
}

TEST_F(MemoryBudgetTest, ARequestThatIsCancelledIsDropped) {
  Request(100, 'a');
  budget_.Cancel(Request(50, 'b'));
  budget_.Return(100, now_);
  EXPECT_EQ(granted_, "a");
  EXPECT_EQ(budget_.waiting(), 0u);
  EXPECT_EQ(budget_.in_use(), 0u);
}

TEST_F(MemoryBudgetTest, WhoWaitsBehindOneThatIsCancelledIsServedAtOnce) {
  Request(60, 'a');
  const MemoryBudget::Ticket ticket = Request(90, 'b');
  Request(40, 'c');
  EXPECT_EQ(granted_, "a");
  budget_.Cancel(ticket);
  EXPECT_EQ(granted_, "ac");
}

TEST_F(MemoryBudgetTest, OneThatIsCancelledBehindAnotherThatWaitsIsKeptNoMore) {
  Request(100, 'a');
  Request(100, 'b');
  for (int i = 0; i < 3; ++i) budget_.Cancel(Request(1, 'c'));
  EXPECT_EQ(budget_.waiting(), 1u);
}

TEST_F(MemoryBudgetTest, AfterTheAnswerThereIsNothingToCancel) {
  Request(100, 'a');
  const MemoryBudget::Ticket answered = Request(100, 'b');
  budget_.Return(100, now_);
  Request(100, 'c');  // In the place of the other.
  budget_.Cancel(answered);
  budget_.Return(100, now_);
  EXPECT_EQ(granted_, "abc");
}

TEST_F(MemoryBudgetTest, TheTimeOfTheFirstIsTheTimeThatIsWaited) {
  EXPECT_FALSE(budget_.waiting_since().has_value());
  Request(100, 'a');
  EXPECT_FALSE(budget_.waiting_since().has_value());
  Request(50, 'b');
  now_ += absl::Seconds(1);
  Request(50, 'c');
  EXPECT_EQ(budget_.waiting_since(), absl::UnixEpoch());
  budget_.Return(50, now_);
  EXPECT_EQ(budget_.waiting_since(), now_);
}

TEST_F(MemoryBudgetTest, NothingIsStalledWhileBytesAreReturned) {
  Request(100, 'a');
  Request(80, 'b');
  EXPECT_EQ(budget_.stalled_since(), budget_.waiting_since());
  now_ += absl::Seconds(1);
  budget_.Return(10, now_);
  EXPECT_EQ(budget_.stalled_since(), now_);
  EXPECT_LT(budget_.waiting_since(), now_);
  budget_.Return(90, now_);
  EXPECT_FALSE(budget_.stalled_since().has_value());
}

TEST_F(MemoryBudgetTest, TheFirstFitsAfterWhatItIsShortOf) {
  Request(80, 'a');
  Request(50, 'b');
  EXPECT_FALSE(budget_.FirstFitsAfter(29));
  EXPECT_TRUE(budget_.FirstFitsAfter(30));
  budget_.Return(80, now_);
  EXPECT_TRUE(budget_.FirstFitsAfter(0)) << "there is none";
}

TEST_F(MemoryBudgetTest, OnlyWhoWaitsForWhatIsLentIsToBeDenied) {
  Request(60, 'a');
  Request(30, 'b');
  Request(50, 'c');
  EXPECT_FALSE(budget_.FirstWaitsForLent());
  budget_.OnLent(30);
  EXPECT_FALSE(budget_.FirstWaitsForLent());  // The 60 bytes in flight will make room.
  budget_.OnLent(60);
  EXPECT_TRUE(budget_.FirstWaitsForLent());
  budget_.DenyFirst();
  EXPECT_EQ(denied_, "c");
  EXPECT_EQ(budget_.waiting(), 0u);
  EXPECT_EQ(budget_.in_use(), 90u);
}

TEST_F(MemoryBudgetTest, AGrantThatReturnsItsBytesAtOnceLetsTheNextIn) {
  Request(100, 'a');
  budget_.Request(100, now_, [this](MemoryBudget::Answer) { budget_.Return(100, now_); });
  Request(100, 'c');
  budget_.Return(100, now_);
  EXPECT_EQ(granted_, "ac");
}

}  // namespace
}  // namespace verbena::transport
