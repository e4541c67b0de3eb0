// On which of a channel's loops calls run that are made by what runs on one of them. Run under TSan.

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <set>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/testing/threads_fixture.h"
#include "rpc/unary_call.h"

namespace verbena {
namespace {

using testing::Text;

class LaneThreadsTest : public testing::ThreadsFixture {
 protected:
  LaneThreadsTest() { channel_options_.loops = 2; }
};

// Calls one after the other, each made by the completion of the one before.
class Chain {
 public:
  Chain(Channel* channel, int calls) : channel_(channel), calls_left_(calls), done_(1) {}

  void Start() {
    context_.emplace();
    CallbackUnaryCall(*channel_, "test.Lambda/Echo", &*context_, &request_, &reply_,
                      [this](const absl::Status& status) {
                        EXPECT_TRUE(status.ok()) << status;
                        threads_.insert(std::this_thread::get_id());
                        if (--calls_left_ > 0) return Start();
                        done_.count_down();
                      });
  }
  // Of its completions.
  std::set<std::thread::id> AwaitThreads() {
    done_.wait();
    return threads_;
  }

 private:
  Channel* const channel_;
  std::optional<ClientContext> context_;
  Text request_, reply_;
  int calls_left_;
  std::set<std::thread::id> threads_;
  std::latch done_;
};

TEST_F(LaneThreadsTest, CallsThatCompletionsMakeStayOnTheirLoopWhileOthersGoInTurn) {
  Start();
  constexpr int kCalls = 50;
  Chain one(channel_.get(), kCalls);
  one.Start();
  const std::set<std::thread::id> threads_of_one = one.AwaitThreads();
  EXPECT_EQ(threads_of_one.size(), 1u);
  Chain other(channel_.get(), kCalls);
  other.Start();
  const std::set<std::thread::id> threads_of_other = other.AwaitThreads();
  EXPECT_EQ(threads_of_other.size(), 1u);
  EXPECT_NE(threads_of_one, threads_of_other);
}

// One that waited for a turn of the loop would not be there while this one lasts.
TEST_F(LaneThreadsTest, CallThatACompletionMakesIsOnItsWayAtOnce) {
  Start();
  for (int calls = 1; calls <= 4; ++calls) {
    ClientContext first, second;
    Text request, first_reply, second_reply;
    std::latch done(2);
    bool arrived = false;
    CallbackUnaryCall(*channel_, "test.Lambda/Echo", &first, &request, &first_reply, [&](const absl::Status&) {
      CallbackUnaryCall(*channel_, "test.Lambda/Block", &second, &request, &second_reply,
                        [&](const absl::Status&) { done.count_down(); });
      const absl::Time end = absl::Now() + absl::Seconds(20);
      while (blocked_ < calls && absl::Now() < end) std::this_thread::yield();
      arrived = blocked_ == calls;
      done.count_down();
    });
    AwaitBlocked(calls);
    released_ = true;
    done.wait();
    ASSERT_TRUE(arrived) << "call " << calls;
    released_ = false;
  }
}

}  // namespace
}  // namespace verbena
