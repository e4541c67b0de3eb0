// What a handler learns of the end of the interest in its call, and when.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";

class CancelCallbackTest : public testing::CallFixture {
 protected:
  CancelCallbackTest() { options_.connect_ahead = false; }

  // A call whose handler holds it and counts in runs_.
  std::shared_ptr<testing::TestCall> CallAndCount(absl::Duration timeout = absl::InfiniteDuration()) {
    auto call = MakeCall("x");
    call->context.set_timeout(timeout);
    StartCall(kHold, *call);
    loop_.RunUntilIdle();
    held_.back().context->SetCancelCallback([this, context = held_.back().context] {
      EXPECT_TRUE(context->IsCancelled());
      EXPECT_TRUE(loop_.InLoopThread());
      ++runs_;
    });
    EXPECT_EQ(runs_, 0);
    return call;
  }
  // A call whose handler finishes it when it is cancelled.
  std::shared_ptr<testing::TestCall> CallThatEndsItself() {
    service_.AddCallback("EndItself", [this](ServerContext* context, const Text&, Text*, Responder done) {
      context->SetCancelCallback([this, done = std::move(done)]() mutable {
        ++runs_;
        done(absl::CancelledError("told"));
      });
    });
    Start();
    const auto call = Call("test.Lambda/EndItself");
    EXPECT_FALSE(call->done());
    EXPECT_EQ(server_->tally().calls(), 1u);
    return call;
  }

  int runs_ = 0;
};

TEST_F(CancelCallbackTest, RunsOnceWhenTheClientCancels) {
  Start();
  const auto call = CallAndCount();
  call->context.TryCancel();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
}

TEST_F(CancelCallbackTest, WhatItThrowsIsDroppedAndItHasReturned) {
  Start();
  const auto call = CallAndCount();
  held_.back().context->SetCancelCallback([] { throw std::runtime_error("out of luck"); });
  call->context.TryCancel();
  loop_.RunUntilIdle();
  held_.back().context->SetCancelCallback([this] { ++runs_; });
  EXPECT_EQ(runs_, 1);
  held_.back().done(absl::OkStatus());
}

TEST_F(CancelCallbackTest, RunsWhenTheDeadlinePasses) {
  Start();
  const auto call = CallAndCount(absl::Seconds(1));
  loop_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(runs_, 0);
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(runs_, 1);
}

TEST_F(CancelCallbackTest, RunsWhenTheConnectionIsGone) {
  Start();
  const auto call = CallAndCount();
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
}

TEST_F(CancelCallbackTest, RunsWhenTheServerShutsDown) {
  Start();
  const auto call = CallAndCount();
  loop_.Post([this] { server_->Abort(); });
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
}

TEST_F(CancelCallbackTest, RunsAtOnceIfTheCallIsCancelledAlready) {
  Start();
  const auto call = Call(kHold);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  for (int times = 1; times <= 2; ++times) {
    held_.at(0).context->SetCancelCallback([this] { ++runs_; });
    EXPECT_EQ(runs_, times);
  }
}

TEST_F(CancelCallbackTest, DoesNotRunAfterTheHandlerHasFinished) {
  Start();
  const auto call = CallAndCount();
  network_.latest_server()->Stall();
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  network_.latest_server()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 0);
}

TEST_F(CancelCallbackTest, OfAnEarlierCallIsForgotten) {
  Start();
  CallAndCount();
  held_.at(0).done(absl::OkStatus());
  held_.clear();
  loop_.RunUntilIdle();
  const auto next = Call(kHold);
  EXPECT_FALSE(held_.at(0).context->IsCancelled());
  next->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
  EXPECT_EQ(runs_, 0);
}

TEST_F(CancelCallbackTest, IsReplacedByTheNextAndRemovedByNull) {
  Start();
  const auto replaced = CallAndCount(), removed = CallAndCount();
  int others = 0;
  held_.at(0).context->SetCancelCallback([&others] { ++others; });
  held_.at(1).context->SetCancelCallback(nullptr);
  replaced->context.TryCancel();
  removed->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(others, 1);
  EXPECT_EQ(runs_, 0);
  EXPECT_TRUE(held_.at(1).context->IsCancelled());
}

TEST_F(CancelCallbackTest, MayFinishItsCallWhenTheClientCancels) {
  const auto call = CallThatEndsItself();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(server_->tally().calls(), 0u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CancelCallbackTest, MayFinishTheLastCallOfAConnectionThatIsGone) {
  const auto call = CallThatEndsItself();
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(server_->tally().calls(), 0u);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(CancelCallbackTest, MayFinishItsCallWhenTheServerShutsDown) {
  const auto call = CallThatEndsItself();
  StopServer();
  EXPECT_EQ(runs_, 1);
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CancelCallbackTest, MayFinishTheLastCallsOfOtherConnectionsThatAreGone) {
  Start();
  for (int i = 0; i < 4; ++i) {
    Call(kHold);
    network_.latest_client()->Sever();
    OpenChannel();
  }
  CallAndCount();
  held_.back().context->SetCancelCallback([this] {
    for (Held& held : held_) held.done(absl::AbortedError("one was told"));
    ++runs_;
  });
  EXPECT_EQ(server_->tally().calls(), 5u);
  server_->Abort();
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CancelCallbackTest, MayNotMakeABlockingCall) {
  Start();
  const auto call = Call(kHold);
  absl::Status nested;
  held_.at(0).context->SetCancelCallback([this, &nested] {
    ClientContext context;
    Text request, reply;
    nested = BlockingUnaryCall(*channel_, kEcho, &context, request, &reply);
  });
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(nested.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CancelCallbackTest, ResponderThatOnlyTheCallbackHoldsIsDroppedWithIt) {
  service_.AddCallback("KeepInCallback", [this](ServerContext* context, const Text&, Text*, Responder done) {
    held_.push_back({context, nullptr, nullptr});
    context->SetCancelCallback([done = std::move(done)]() mutable { done(absl::OkStatus()); });
  });
  Start();
  const auto call = Call("test.Lambda/KeepInCallback");
  EXPECT_FALSE(call->done());
  held_.at(0).context->SetCancelCallback(nullptr);
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kInternal, Certainty::kExecuted, "dropped its responder");
}

}  // namespace
}  // namespace verbena
