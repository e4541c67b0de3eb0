#include "rpc/core/overload/call_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ClientId kAda{1};
constexpr ClientId kBob{2};

class CallQueueTest : public ::testing::Test {
 protected:
  static constexpr CallQueueOptions kOptions = {4, absl::Milliseconds(100), absl::Milliseconds(5)};

  // Runs to "name", and is refused to "name: words".
  CallQueue::Task Named(const std::string& name) {
    return [this, name](absl::Status status) {
      said_.push_back(status.ok() ? name : name + ": " + std::string(status.message()));
      codes_.push_back(status.code());
    };
  }
  void Push(ClientId client, const std::string& name) {
    if (auto refusal = queue_.Push(client, Named(name), now_)) refusal->task(refusal->status);
  }
  // A thread is free.
  void RunNext() {
    RefuseOverdue();
    if (CallQueue::Task next = queue_.Pop()) next(absl::OkStatus());
  }
  void RefuseOverdue() {
    while (auto refusal = queue_.PopOverdue(now_)) refusal->task(refusal->status);
  }
  void Pass(int ms) { now_ += absl::Milliseconds(ms); }

  absl::Time now_ = absl::UnixEpoch();
  CallQueue queue_{kOptions};
  std::vector<std::string> said_;
  std::vector<absl::StatusCode> codes_;
};

TEST_F(CallQueueTest, CallsRunInTurn) {
  Push(kAda, "a1");
  Push(kAda, "a2");
  Push(kBob, "b1");
  for (int i = 0; i < 4; ++i) RunNext();
  EXPECT_THAT(said_, ElementsAre("a1", "b1", "a2"));
}

TEST_F(CallQueueTest, CallPastThePlacesIsRefusedSayingWhichOption) {
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) Push(kAda, name);
  EXPECT_THAT(said_, ElementsAre("a5: the server's executor is full: 4 calls wait (executor_queue_max)"));
  EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kResourceExhausted));
}

TEST_F(CallQueueTest, CallThatGivesItsPlaceIsToldHowLongItHadWaited) {
  for (const char* name : {"a1", "a2", "a3", "a4"}) Push(kAda, name);
  Pass(3);
  Push(kBob, "b1");
  EXPECT_THAT(said_, ElementsAre("a4: the call waited 3ms for a handler thread and gave its place, of 4 "
                                 "(executor_queue_max), to a client with fewer calls that wait"));
}

TEST_F(CallQueueTest, CallThatWaitedTooLongIsRefusedSayingHowLongAndWhichOption) {
  Push(kAda, "a1");
  EXPECT_EQ(queue_.NextDeadline(), now_ + absl::Milliseconds(100));
  Pass(100);
  RefuseOverdue();
  EXPECT_THAT(said_, ElementsAre("a1: the call waited 100ms for a handler thread (executor_queue_time_max is 100ms)"));
  EXPECT_EQ(queue_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(CallQueueTest, InAQueueThatStandsWaitsAreShortAndTheNewestGoesFirst) {
  Push(kAda, "a1");
  Pass(99);
  Push(kAda, "a2");
  Pass(6);
  Push(kAda, "a3");
  Push(kAda, "a4");
  RunNext();
  ASSERT_EQ(said_.size(), 3u);
  EXPECT_THAT(said_[0], HasSubstr("a1: the call waited 105ms"));
  EXPECT_EQ(said_[1],
            "a2: the call waited 6ms for a handler thread (executor_queue_time_target is 5ms, and calls have waited "
            "without a pause for 100ms, executor_queue_time_max)");
  EXPECT_EQ(said_[2], "a4");
}

TEST_F(CallQueueTest, OrderReturnsWhenTheQueueHasBeenEmpty) {
  Push(kAda, "a1");
  Pass(100);
  RunNext();
  for (const char* name : {"a2", "a3"}) Push(kAda, name);
  Pass(50);
  RunNext();
  RunNext();
  EXPECT_THAT(std::vector<std::string>(said_.begin() + 1, said_.end()), ElementsAre("a2", "a3"));
}

TEST_F(CallQueueTest, ClearedCallsAreNeitherRunNorAnswered) {
  Push(kAda, "a1");
  Push(kBob, "b1");
  EXPECT_EQ(queue_.Clear().size(), 2u);
  RunNext();
  EXPECT_THAT(said_, ElementsAre());
}

}  // namespace
}  // namespace verbena::rpc
