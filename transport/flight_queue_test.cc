#include "transport/flight_queue.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr uint32_t kLink = 7;

class FlightQueueTest : public testing::Test {
 protected:
  FlightCounts total_;
  FlightQueue queue_{kLink, &total_};
};

TEST_F(FlightQueueTest, ATokenNamesTheKindAndTheLink) {
  const verbs::CompletionToken token = queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 42});
  EXPECT_EQ(token.kind<WorkKind>(), WorkKind::kRead);
  EXPECT_EQ(token.index(), kLink);
}

TEST_F(FlightQueueTest, ACompletionCoversItsFlightAndThoseBefore) {
  queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 1});
  const verbs::CompletionToken second = queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 2});
  queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 3});
  ASSERT_TRUE(queue_.Covers(second));
  EXPECT_EQ(queue_.TakeOldest().fetch_id, 1u);
  ASSERT_TRUE(queue_.Covers(second));
  EXPECT_EQ(queue_.TakeOldest().fetch_id, 2u);
  EXPECT_FALSE(queue_.Covers(second));
  EXPECT_EQ(queue_.size(), 1u);
}

TEST_F(FlightQueueTest, ALateCompletionCoversNothingOfTheNextLink) {
  const verbs::CompletionToken late = queue_.Add(Flight{});
  queue_.Clear();
  EXPECT_FALSE(queue_.Covers(late));
  queue_.Add(Flight{});
  EXPECT_FALSE(queue_.Covers(late));
}

TEST_F(FlightQueueTest, WhatWasNeverPostedIsTakenFromTheOtherEnd) {
  queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 1});
  queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 2});
  EXPECT_EQ(queue_.TakeNewest().fetch_id, 2u);
  const verbs::CompletionToken again = queue_.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 3});
  queue_.TakeOldest();
  ASSERT_TRUE(queue_.Covers(again));
  EXPECT_EQ(queue_.TakeOldest().fetch_id, 3u);
}

TEST(LinkFlights, ASendThatOvertakesAReadSaysNothingOfIt) {
  FlightCounts total;
  LinkFlights flights(kLink, &total);
  const verbs::CompletionToken read = flights.Add(Flight{.kind = WorkKind::kRead, .fetch_id = 1});
  const verbs::CompletionToken send = flights.Add(Flight{.kind = WorkKind::kFrame});
  ASSERT_TRUE(flights.Of(WorkKind::kFrame).Covers(send));
  EXPECT_EQ(flights.Of(WorkKind::kFrame).TakeOldest().kind, WorkKind::kFrame);
  EXPECT_FALSE(flights.Of(WorkKind::kFrame).Covers(send));
  EXPECT_EQ(flights.size(), 1u);
  ASSERT_TRUE(flights.Of(WorkKind::kRead).Covers(read));
  EXPECT_EQ(flights.Of(WorkKind::kRead).TakeOldest().fetch_id, 1u);
  EXPECT_EQ(total.all, 0u);
}

TEST_F(FlightQueueTest, TheTotalIsThatOfAllQueues) {
  FlightQueue other(kLink + 1, &total_);
  queue_.Add(Flight{});
  queue_.Add(Flight{});
  other.Add(Flight{});
  EXPECT_EQ(total_.all, 3u);
  queue_.Clear();
  EXPECT_EQ(total_.all, 1u);
}

TEST_F(FlightQueueTest, ThoseThatAreAwaitedAreCountedUntilTheyAreGone) {
  queue_.Add(Flight{});
  EXPECT_EQ(total_.awaited, 0u);
  queue_.Add(Flight{.kind = WorkKind::kRead, .awaited = true});
  queue_.Add(Flight{.kind = WorkKind::kInvalidate, .awaited = true});
  EXPECT_EQ(total_.awaited, 2u);
  queue_.Clear();
  EXPECT_EQ(total_.awaited, 0u);
}

TEST_F(FlightQueueTest, TheNewestIsAwaitedOnceHoweverOftenItIsAskedFor) {
  queue_.AwaitNewest();
  EXPECT_EQ(total_.awaited, 0u);
  queue_.Add(Flight{});
  queue_.Add(Flight{});
  queue_.AwaitNewest();
  queue_.AwaitNewest();
  EXPECT_EQ(total_.awaited, 1u);
  queue_.TakeOldest();
  EXPECT_EQ(total_.awaited, 1u);
  queue_.TakeNewest();
  EXPECT_EQ(total_.awaited, 0u);
}

}  // namespace
}  // namespace verbena::transport
