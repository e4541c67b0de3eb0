// Calls that handlers make: what they have of the call that they are made for.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";
constexpr absl::string_view kNest = "test.Lambda/Nest";
constexpr absl::Duration kAWhile = absl::Seconds(1000);

class DeadlinePropagationTest : public testing::StreamFixture {
 protected:
  DeadlinePropagationTest() {
    // Makes a call of Hold, as prepare_ wants it, and holds its own responder in parents_.
    service_.AddCallback("Nest", [this](ServerContext* context, const Text&, Text* reply, Responder done) {
      parents_.push_back({context, reply, std::move(done)});
      StartNested();
    });
  }

  void StartNested() {
    nested_.push_back(MakeCall("nested"));
    prepare_(nested_.back()->context);
    StartCall(kHold, *nested_.back());
  }
  std::shared_ptr<testing::TestCall> CallNest(absl::Duration timeout = absl::InfiniteDuration()) {
    auto call = MakeCall("parent");
    call->context.set_timeout(timeout);
    StartCall(kNest, *call);
    loop_.RunUntilIdle();
    return call;
  }
  // What the server was told when it got the nested call.
  void ExpectNestedTimeout(absl::Duration expected) {
    const absl::Time deadline = held_.back().context->deadline();
    EXPECT_EQ(deadline, loop_.WallNow() + expected);
  }
  void ExpectNestedCancelled() {
    ASSERT_TRUE(nested_.back()->done());
    EXPECT_EQ(nested_.back()->status().code(), absl::StatusCode::kCancelled) << nested_.back()->status();
    EXPECT_TRUE(held_.back().context->IsCancelled());
  }
  void ExpectNestedGoesOn() {
    EXPECT_FALSE(nested_.back()->done());
    held_.back().done(absl::OkStatus());
    loop_.RunUntilIdle();
    EXPECT_EQ(nested_.back()->status(), absl::OkStatus());
  }

  std::function<void(ClientContext&)> prepare_ = [](ClientContext&) {};
  std::vector<Held> parents_;
  std::vector<std::shared_ptr<testing::TestCall>> nested_;
};

TEST_F(DeadlinePropagationTest, NestedCallHasWhatIsLeftOfItsParentsTime) {
  Start();
  CallNest(kAWhile);
  ExpectNestedTimeout(kAWhile);
  EXPECT_EQ(held_.back().context->deadline(), parents_.back().context->deadline());
}

TEST_F(DeadlinePropagationTest, EarlierDeadlineOfTheTwoCounts) {
  Start();
  prepare_ = [](ClientContext& context) { context.set_timeout(kAWhile / 2); };
  CallNest(kAWhile);
  ExpectNestedTimeout(kAWhile / 2);
  prepare_ = [](ClientContext& context) { context.set_timeout(kAWhile * 2); };
  CallNest(kAWhile);
  ExpectNestedTimeout(kAWhile);
  prepare_ = [this](ClientContext& context) { context.set_deadline(loop_.WallNow() + kAWhile * 2); };
  CallNest(kAWhile);
  ExpectNestedTimeout(kAWhile);
}

TEST_F(DeadlinePropagationTest, ParentWithoutADeadlineLeavesTheNestedCallItsOwn) {
  Start();
  CallNest();
  ExpectNestedTimeout(absl::InfiniteDuration());
  prepare_ = [](ClientContext& context) { context.set_timeout(kAWhile); };
  CallNest();
  ExpectNestedTimeout(kAWhile);
}

TEST_F(DeadlinePropagationTest, DefaultTimeoutCountsBesideTheParents) {
  options_.default_timeout = kAWhile;
  Start();
  CallNest(kAWhile * 2);
  ExpectNestedTimeout(kAWhile);
  CallNest(kAWhile / 2);
  ExpectNestedTimeout(kAWhile / 2);
}

TEST_F(DeadlinePropagationTest, NestedCallEndsWhenItsParentIsCancelled) {
  Start();
  const auto parent = CallNest();
  EXPECT_FALSE(nested_.back()->done());
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectNestedCancelled();
  ExpectFailed(*nested_.back(), absl::StatusCode::kCancelled, Certainty::kOutcomeUnknown,
               "the call whose handler made this one was cancelled");
}

TEST_F(DeadlinePropagationTest, NestedCallEndsWhenItsParentsConnectionIsGone) {
  Start();
  const std::shared_ptr<Channel> to_be_severed = channel_;
  testing::MemoryConnection* const severed = network_.latest_client();
  OpenChannel();
  const std::shared_ptr<Channel> of_the_handler = std::exchange(channel_, to_be_severed);
  prepare_ = [&](ClientContext&) { channel_ = of_the_handler; };
  CallNest();
  severed->Sever();
  loop_.RunUntilIdle();
  ExpectNestedCancelled();
}

TEST_F(DeadlinePropagationTest, NestedCallEndsWithItsParentsTime) {
  Start();
  CallNest(kAWhile);
  loop_.Advance(kAWhile);
  ASSERT_TRUE(nested_.back()->done());
  EXPECT_FALSE(nested_.back()->status().ok());
  EXPECT_TRUE(held_.back().context->IsCancelled());
}

TEST_F(DeadlinePropagationTest, NestedStreamFollowsAsACallDoes) {
  testing::StreamCall* nested = nullptr;
  service_.AddCallback("NestStream", [&](ServerContext* context, const Text&, Text* reply, Responder done) {
    parents_.push_back({context, reply, std::move(done)});
    nested = BeginOnly(MethodKind::kBidiStreaming, absl::InfiniteDuration());
  });
  Start();
  auto parent = MakeCall("x");
  parent->context.set_timeout(kAWhile);
  StartCall("test.Lambda/NestStream", *parent);
  loop_.RunUntilIdle();
  EXPECT_EQ(served().context->deadline(), loop_.WallNow() + kAWhile);
  EXPECT_TRUE(nested->completions.empty());
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_EQ(nested->completions.size(), 1u);
  EXPECT_EQ(nested->completions[0].code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(served().context->IsCancelled());
}

TEST_F(DeadlinePropagationTest, CallThatDoesNotPropagateIsByItself) {
  Start();
  prepare_ = [](ClientContext& context) { context.set_propagate(false); };
  const auto parent = CallNest(kAWhile);
  ExpectNestedTimeout(absl::InfiniteDuration());
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_TRUE(parents_.back().context->IsCancelled());
  ExpectNestedGoesOn();
}

TEST_F(DeadlinePropagationTest, CallOutsideOfHandlersFollowsNobody) {
  Start();
  const auto parent = CallNest(kAWhile);
  StartNested();
  loop_.RunUntilIdle();
  ExpectNestedTimeout(absl::InfiniteDuration());
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectNestedGoesOn();
}

TEST_F(DeadlinePropagationTest, HandlerThatGoesOnElsewhereSaysWhomItsCallsFollow) {
  Start();
  const auto parent = CallNest(kAWhile);
  prepare_ = [this](ClientContext& context) {
    context.set_propagate(false);
    context.FollowServerContext(*parents_.back().context);
  };
  StartNested();
  loop_.RunUntilIdle();
  ExpectNestedTimeout(kAWhile);
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectNestedCancelled();
}

TEST_F(DeadlinePropagationTest, CallThatFollowsACancelledOneIsNotSent) {
  Start();
  const auto parent = CallNest();
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  const uint64_t accepted = server_->tally().accepted;
  prepare_ = [this](ClientContext& context) { context.FollowServerContext(*parents_.back().context); };
  StartNested();
  loop_.RunUntilIdle();
  ExpectFailed(*nested_.back(), absl::StatusCode::kCancelled, Certainty::kNotSent, "cancelled before it was made");
  EXPECT_EQ(server_->tally().accepted, accepted);
}

TEST_F(DeadlinePropagationTest, NestedCallOutlivesAHandlerThatFinishes) {
  Start();
  const auto first = CallNest();
  parents_.at(0).done(absl::OkStatus());
  parents_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(first->status(), absl::OkStatus());
  const auto second = CallNest();  // In the first one's call object.
  second->context.TryCancel();
  loop_.RunUntilIdle();
  ExpectNestedCancelled();
  std::swap(nested_.at(0), nested_.at(1));
  std::swap(held_.at(0), held_.at(1));
  ExpectNestedGoesOn();
}

TEST_F(DeadlinePropagationTest, HandlerThatHasFinishedAndGoesOnIsNoParentAnyMore) {
  service_.AddCallback("FinishFirst", [this](ServerContext*, const Text&, Text*, Responder done) {
    done(absl::OkStatus());
    StartNested();
  });
  Start();
  auto call = MakeCall("x");
  call->context.set_timeout(kAWhile);
  StartCall("test.Lambda/FinishFirst", *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
  ExpectNestedTimeout(absl::InfiniteDuration());
}

TEST_F(DeadlinePropagationTest, NestedCallThatIsCompleteIsForgotten) {
  Start();
  const auto parent = CallNest(kAWhile);
  ExpectNestedGoesOn();
  nested_.back()->context.Reset();
  nested_.back()->completions.clear();
  StartCall(kHold, *nested_.back());
  loop_.RunUntilIdle();
  ExpectNestedTimeout(absl::InfiniteDuration());
  parent->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_FALSE(nested_.back()->done());
}

TEST_F(DeadlinePropagationTest, NestedCallThatCannotStartFollowsNobodyAfterwards) {
  options_.calls_in_flight_max = 2;
  Start();
  const auto parent = CallNest(kAWhile);
  prepare_ = [this](ClientContext& context) { context.FollowServerContext(*parents_.back().context); };
  StartNested();
  loop_.RunUntilIdle();
  ExpectFailed(*nested_.back(), absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "calls_in_flight_max");
  parents_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  StartCall(kHold, *nested_.back());
  loop_.RunUntilIdle();
  ExpectNestedTimeout(absl::InfiniteDuration());
}

TEST_F(DeadlinePropagationTest, TimeoutOfLessThanTheWireCanSayIsOneAllTheSame) {
  Start();
  const auto call = MakeCall("x");
  call->context.set_timeout(absl::Nanoseconds(1) / 2);
  StartCall(kHold, *call);
  loop_.RunUntilIdle();
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_NE(held_[0].context->deadline(), absl::InfiniteFuture());
}

// The completion of another that ended with the same event took its time.
TEST_F(DeadlinePropagationTest, CallWhoseTimeIsUpBeforeItIsSentIsNotSent) {
  options_.connect_ahead = false;
  Start();
  network_.set_connect_delay(absl::Seconds(1));
  const auto first = MakeCall("first");
  first->context.set_timeout(absl::Seconds(1));
  CallbackUnaryCall(*channel_, kHold, &first->context, &first->request, &first->reply, [this](const absl::Status&) {
    loop_.HoldUp(absl::Seconds(1));
    loop_.ReadNow();
  });
  const auto second = MakeCall("second");
  second->context.set_timeout(absl::Milliseconds(1500));
  StartCall(kHold, *second);
  loop_.RunUntilIdle();
  loop_.Advance(absl::Seconds(1));
  EXPECT_TRUE(held_.empty());
  ExpectFailed(*second, absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "deadline");
}

}  // namespace
}  // namespace verbena
