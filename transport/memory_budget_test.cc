#include "transport/memory_budget.h"

#include <string>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class MemoryBudgetTest : public testing::Test {
 protected:
  void Request(uint64_t bytes, char name) {
    budget_.Request(
        bytes, [this] { return wanted_; }, [this, name] { granted_ += name; });
  }

  Counter in_use_;
  MemoryBudget budget_{100, &in_use_};
  bool wanted_ = true;
  std::string granted_;
};

TEST_F(MemoryBudgetTest, WhatFitsIsGrantedAtOnce) {
  Request(60, 'a');
  Request(40, 'b');
  EXPECT_EQ(granted_, "ab");
  EXPECT_EQ(in_use_.value(), 100u);
}

TEST_F(MemoryBudgetTest, WhatDoesNotFitWaitsForAReturnInOrderOfAsking) {
  Request(80, 'a');
  Request(50, 'b');
  Request(10, 'c');  // Would fit, but must not overtake.
  EXPECT_EQ(granted_, "a");
  budget_.Return(80);
  EXPECT_EQ(granted_, "abc");
  EXPECT_EQ(budget_.in_use(), 60u);
}

TEST_F(MemoryBudgetTest, ARequestLargerThanTheBudgetIsServedAlone) {
  Request(10, 'a');
  Request(1000, 'b');
  EXPECT_EQ(granted_, "a");
  budget_.Return(10);
  EXPECT_EQ(granted_, "ab");
  Request(1, 'c');
  EXPECT_EQ(granted_, "ab");
  budget_.Return(1000);
  EXPECT_EQ(granted_, "abc");
}

TEST_F(MemoryBudgetTest, ARequestThatIsNotWantedAnyMoreIsDropped) {
  Request(100, 'a');
  Request(50, 'b');
  wanted_ = false;
  budget_.Return(100);
  EXPECT_EQ(granted_, "a");
  EXPECT_EQ(budget_.waiting(), 0u);
  EXPECT_EQ(budget_.in_use(), 0u);
}

TEST_F(MemoryBudgetTest, AGrantThatReturnsItsBytesAtOnceLetsTheNextIn) {
  Request(100, 'a');
  budget_.Request(
      100, [] { return true; }, [this] { budget_.Return(100); });
  Request(100, 'c');
  budget_.Return(100);
  EXPECT_EQ(granted_, "ac");
}

}  // namespace
}  // namespace verbena::transport
