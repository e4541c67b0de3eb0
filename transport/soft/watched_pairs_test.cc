// The queue pair that a completion queue watches: its messages need no mark in the ready map, and nobody's are missed.

#include <set>

#include "gtest/gtest.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr int kUntilWatched = 20;  // Messages in a row; more than it takes.

// Two senders, and their receivers with one receive completion queue, which has a channel.
class WatchedPairs : public testing::Test {
 protected:
  WatchedPairs() {
    Link(first_, first_receiver_);
    Link(second_, second_receiver_);
  }

  CompletionQueue& queue() { return *static_cast<CompletionQueue*>(first_receiver_.receive_queue); }

  // Sends and receives one message; true if it was marked in the ready map.
  bool Pass(TestEnd& from, TestEnd& to) {
    ++sent_;
    EXPECT_EQ(to.Receive(sent_), 0);
    EXPECT_EQ(from.Send(sent_, 0, 64, 0), 0);
    bool marked = queue().ready().AnyReady();
    ExpectNext(sent_);
    return marked;
  }
  bool PassFirst() { return Pass(first_, first_receiver_); }
  bool PassSecond() { return Pass(second_, second_receiver_); }

  // The first poll finds it.
  void ExpectNext(uint64_t wr_id) {
    auto received = TestEnd::Poll(&queue());
    ASSERT_TRUE(received.has_value()) << "message " << wr_id;
    EXPECT_EQ(received->wr_id, wr_id);
  }

  TestEnd first_;
  TestEnd second_;
  TestEnd first_receiver_{{.with_channel = true}};
  TestEnd second_receiver_{{.receive_queue = first_receiver_.receive_queue}};
  uint64_t sent_ = 0;
};

TEST_F(WatchedPairs, QueuePairOfManyMessagesIsMarkedNoLonger) {
  EXPECT_TRUE(PassFirst());
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  EXPECT_FALSE(PassFirst());
  EXPECT_TRUE(PassSecond());
  EXPECT_FALSE(PassFirst());
}

TEST_F(WatchedPairs, AnotherOneWithMoreMessagesTakesItsPlace) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  for (int i = 0; i < kUntilWatched; ++i) PassSecond();
  EXPECT_FALSE(PassSecond());
  EXPECT_TRUE(PassFirst());
}

TEST_F(WatchedPairs, ItsPlaceIsHadAgainAfterAPauseInPolling) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  while (queue().TakePolls() > 0) {
  }
  EXPECT_TRUE(PassFirst());
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  EXPECT_FALSE(PassFirst());
}

TEST_F(WatchedPairs, OneWhoseReceiverFailedLosesItsPlace) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  ASSERT_EQ(first_receiver_.EnterError(), 0);
  for (int i = 0; i < kUntilWatched; ++i) PassSecond();
  EXPECT_FALSE(PassSecond());
}

TEST_F(WatchedPairs, DestroyedOneLosesItsPlace) {
  {
    TestEnd third;
    TestEnd third_receiver({.receive_queue = first_receiver_.receive_queue});
    Link(third, third_receiver);
    for (int i = 0; i < kUntilWatched; ++i) Pass(third, third_receiver);
    EXPECT_FALSE(Pass(third, third_receiver));
  }
  EXPECT_TRUE(PassFirst());
}

TEST_F(WatchedPairs, MessagesOfTheOneThatWasWatchedAreNotMissedWhenItLosesItsPlace) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  std::set<uint64_t> expected;
  for (int i = 0; i < kUntilWatched; ++i) {
    uint64_t id = ++sent_;
    first_receiver_.Receive(id);
    second_receiver_.Receive(id + 1000);
    first_.Send(id, 0, 64, 0);
    second_.Send(id, 0, 64, 0);
    expected.insert({id, id + 1000});
    if (auto received = TestEnd::Poll(&queue())) expected.erase(received->wr_id);
  }
  for (int i = 0; i < 2 * kUntilWatched && !expected.empty(); ++i) {
    if (auto received = TestEnd::Poll(&queue())) expected.erase(received->wr_id);
  }
  EXPECT_TRUE(expected.empty());
}

TEST_F(WatchedPairs, WatchedMessageWakesAnArmedQueue) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  ibv_req_notify_cq(&queue(), 0);
  first_receiver_.Receive(1000);
  first_.Send(1000, 0, 64, 0);
  EXPECT_EQ(NextCompletionEvent(first_receiver_.channel), &queue());
  ExpectNext(1000);
}

TEST_F(WatchedPairs, MessageBeforeArmingIsFoundByTheNextPoll) {
  for (int i = 0; i < kUntilWatched; ++i) PassFirst();
  first_receiver_.Receive(1000);
  first_.Send(1000, 0, 64, 0);
  ibv_req_notify_cq(&queue(), 0);
  ExpectNext(1000);
}

}  // namespace
}  // namespace verbena::soft
