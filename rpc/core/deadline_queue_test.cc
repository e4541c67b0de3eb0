#include "rpc/core/deadline_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace verbena::rpc {
namespace {

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

constexpr uint64_t Id(uint32_t index, uint32_t generation = 1) { return uint64_t{generation} << 32 | index; }

TEST(DeadlineQueue, EmptyQueueNeverExpires) {
  DeadlineQueue queue;
  EXPECT_EQ(queue.NextDeadline(), absl::InfiniteFuture());
  EXPECT_FALSE(queue.PopExpired(absl::InfiniteFuture()).has_value());
}

TEST(DeadlineQueue, CallsExpireSoonestFirst) {
  DeadlineQueue queue;
  queue.Set(Id(0), At(30));
  queue.Set(Id(1), At(10));
  queue.Set(Id(2), At(20));
  EXPECT_EQ(queue.NextDeadline(), At(10));
  EXPECT_EQ(queue.PopExpired(At(25)), Id(1));
  EXPECT_EQ(queue.PopExpired(At(25)), Id(2));
  EXPECT_FALSE(queue.PopExpired(At(25)).has_value());
  EXPECT_EQ(queue.NextDeadline(), At(30));
}

TEST(DeadlineQueue, DeadlineItselfIsExpired) {
  DeadlineQueue queue;
  queue.Set(Id(0), At(10));
  EXPECT_FALSE(queue.PopExpired(At(10) - absl::Nanoseconds(1)).has_value());
  EXPECT_TRUE(queue.PopExpired(At(10)).has_value());
}

TEST(DeadlineQueue, RemovedCallDoesNotExpire) {
  DeadlineQueue queue;
  queue.Set(Id(0), At(10));
  queue.Set(Id(1), At(20));
  queue.Remove(Id(0));
  EXPECT_EQ(queue.PopExpired(At(100)), Id(1));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(DeadlineQueue, RemovingWhatIsNotThereDoesNothing) {
  DeadlineQueue queue;
  queue.Set(Id(0, 2), At(10));
  queue.Remove(Id(0, 1));
  queue.Remove(Id(7));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(DeadlineQueue, DeadlineMayMove) {
  DeadlineQueue queue;
  queue.Set(Id(0), At(10));
  queue.Set(Id(1), At(20));
  queue.Set(Id(0), At(30));
  EXPECT_EQ(queue.NextDeadline(), At(20));
  queue.Set(Id(0), At(5));
  EXPECT_EQ(queue.NextDeadline(), At(5));
  EXPECT_EQ(queue.size(), 2u);
}

TEST(DeadlineQueue, InfiniteDeadlineIsNone) {
  DeadlineQueue queue;
  queue.Set(Id(0), absl::InfiniteFuture());
  EXPECT_EQ(queue.size(), 0u);
  queue.Set(Id(0), At(10));
  queue.Set(Id(0), absl::InfiniteFuture());
  EXPECT_EQ(queue.NextDeadline(), absl::InfiniteFuture());
}

TEST(DeadlineQueue, NextCallInASlotReplacesTheLast) {
  DeadlineQueue queue;
  queue.Set(Id(0, 1), At(10));
  queue.Set(Id(0, 2), At(20));
  EXPECT_EQ(queue.PopExpired(At(100)), Id(0, 2));
  EXPECT_FALSE(queue.PopExpired(At(100)).has_value());
}

TEST(DeadlineQueue, CallsInOrderLeaveFromAnywhere) {
  DeadlineQueue queue;
  for (uint32_t i = 0; i < 4; ++i) queue.Set(Id(i), At(10 + i));
  queue.Remove(Id(1));
  queue.Remove(Id(3));
  queue.Set(Id(3), At(12));  // As late as the last.
  queue.Set(Id(1), At(11));  // Between two.
  queue.Remove(Id(0));
  for (const uint32_t next : {1, 2, 3}) EXPECT_EQ(queue.PopExpired(At(100)), Id(next));
  EXPECT_EQ(queue.size(), 0u);
}

// Against a plain map, over many random steps.
TEST(DeadlineQueue, AgreesWithAModel) {
  std::mt19937 random(1);
  DeadlineQueue queue;
  std::map<uint64_t, absl::Time> model;
  for (int step = 0; step < 20000; ++step) {
    const uint64_t id = Id(random() % 64);
    switch (random() % 4) {
      case 0:
      case 1: {
        // Now in order, now not.
        const absl::Time deadline = At(step / 1000 % 2 == 0 ? random() % 1000 : step);
        queue.Set(id, deadline);
        model[id] = deadline;
        break;
      }
      case 2:
        queue.Remove(id);
        model.erase(id);
        break;
      case 3: {
        const absl::Time now = At(step / 1000 % 2 == 0 ? random() % 300 : step - 10);
        const std::optional<uint64_t> expired = queue.PopExpired(now);
        ASSERT_TRUE(!expired.has_value() || model.at(*expired) <= now);
        for (const auto& [other, deadline] : model) {
          ASSERT_TRUE(deadline > now || (expired.has_value() && model.at(*expired) <= deadline));
        }
        if (expired.has_value()) model.erase(*expired);
        break;
      }
    }
    ASSERT_EQ(queue.size(), model.size());
    absl::Time next = absl::InfiniteFuture();
    for (const auto& [other, deadline] : model) next = std::min(next, deadline);
    ASSERT_EQ(queue.NextDeadline(), next);
  }
}

}  // namespace
}  // namespace verbena::rpc
