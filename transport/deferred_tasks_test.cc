#include "transport/deferred_tasks.h"

#include <string>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class DeferredTasksTest : public testing::Test {
 protected:
  DeferredTasksTest() { tasks_.set_capacity(100); }
  void Add(char name) {
    tasks_.Add([this, name] { ran_ += name; });
  }
  void Poll(uint64_t count, bool emptied) {
    tasks_.OnPoll();
    tasks_.OnPolled(count, emptied);
    tasks_.RunRipe();
  }

  DeferredTasks tasks_;
  std::string ran_;
};

TEST_F(DeferredTasksTest, APollThatEmptiesTheQueueLetsThemRunInOrder) {
  Add('a');
  Add('b');
  Poll(32, false);
  EXPECT_EQ(ran_, "");
  Poll(3, true);
  EXPECT_EQ(ran_, "ab");
  EXPECT_TRUE(tasks_.empty());
}

TEST_F(DeferredTasksTest, OneAskedForWhileCompletionsAreHandledWaitsForTheNextPoll) {
  tasks_.OnPoll();
  Add('a');  // More may have arrived since the poll.
  tasks_.OnPolled(3, true);
  tasks_.RunRipe();
  EXPECT_EQ(ran_, "");
  Poll(0, true);
  EXPECT_EQ(ran_, "a");
}

TEST_F(DeferredTasksTest, AQueueThatIsNeverEmptyHoldsThemUpForItsCapacityAtMost) {
  Poll(32, false);
  Add('a');
  for (int i = 0; i < 3; ++i) Poll(32, false);
  Add('b');
  EXPECT_EQ(ran_, "");
  Poll(32, false);
  EXPECT_EQ(ran_, "a");
  for (int i = 0; i < 3; ++i) Poll(32, false);
  EXPECT_EQ(ran_, "ab");
}

TEST_F(DeferredTasksTest, AQueueThatHasFailedHoldsNothingUp) {
  Add('a');
  tasks_.OnQueueFailed();
  tasks_.RunRipe();
  Add('b');
  tasks_.RunRipe();
  EXPECT_EQ(ran_, "ab");
}

TEST_F(DeferredTasksTest, WhatATaskAddsRunsLater) {
  tasks_.Add([this] { Add('b'); });
  Poll(0, true);
  EXPECT_EQ(ran_, "");
  Poll(0, true);
  EXPECT_EQ(ran_, "b");
}

}  // namespace
}  // namespace verbena::transport
