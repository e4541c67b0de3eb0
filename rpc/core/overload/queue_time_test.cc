#include "rpc/core/overload/queue_time.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

absl::Time At(int ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(QueueTime, UntilTheQueueHasStoodForTheMaximumThatIsWhatMayBeWaited) {
  QueueTime time(absl::Milliseconds(100), absl::Milliseconds(5));
  time.OnFirst(At(0));
  EXPECT_EQ(time.DeadlineOf(At(0)), At(100));
  EXPECT_EQ(time.DeadlineOf(At(90)), At(100));
}

TEST(QueueTime, InAQueueThatStandsOnlyTheTargetMayBeWaited) {
  QueueTime time(absl::Milliseconds(100), absl::Milliseconds(5));
  time.OnFirst(At(0));
  EXPECT_EQ(time.DeadlineOf(At(98)), At(103));
  EXPECT_EQ(time.DeadlineOf(At(500)), At(505));
}

TEST(QueueTime, QueueThatWasEmptyStartsAnew) {
  QueueTime time(absl::Milliseconds(100), absl::Milliseconds(5));
  time.OnFirst(At(0));
  time.OnFirst(At(500));
  EXPECT_EQ(time.DeadlineOf(At(500)), At(600));
}

TEST(QueueTime, TargetBeyondTheMaximumIsAFixedBound) {
  QueueTime time(absl::Milliseconds(100), absl::InfiniteDuration());
  time.OnFirst(At(0));
  EXPECT_EQ(time.DeadlineOf(At(70)), At(170));
  EXPECT_EQ(time.DeadlineOf(At(5000)), At(5100));
}

TEST(QueueTime, InfiniteMaximumIsNoBound) {
  QueueTime time(absl::InfiniteDuration(), absl::Milliseconds(5));
  time.OnFirst(At(0));
  EXPECT_EQ(time.DeadlineOf(At(1000000)), absl::InfiniteFuture());
}

}  // namespace
}  // namespace verbena::rpc
