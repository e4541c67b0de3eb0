#include "transport/deadline_timer.h"

#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

// Notes at which of the times that it asked for it is called, by their order.
class Waiter {
 public:
  explicit Waiter(EventLoop* loop) : loop_(*loop), timer_(loop, this) {}

  void OnTime() {
    called_at_.push_back(loop_.Now());
    const std::function<void()> run = on_time_;  // It may destroy this.
    if (run != nullptr) run();
  }

  EventLoop& loop_;
  std::vector<absl::Time> called_at_;
  std::function<void()> on_time_;
  DeadlineTimer<Waiter, &Waiter::OnTime> timer_;
};

class DeadlineTimerTest : public ::testing::Test {
 protected:
  void Pass(absl::Duration duration) {
    const absl::Time end = loop_->Now() + duration;
    loop_->RunUntil([&] { return loop_->Now() >= end; });
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
  std::unique_ptr<Waiter> waiter_ = std::make_unique<Waiter>(loop_.get());
};

TEST_F(DeadlineTimerTest, CallsAtTheEarliestOnceHoweverOftenItWasAsked) {
  const absl::Time now = loop_->Now();
  waiter_->timer_.SetBy(now + absl::Milliseconds(500));
  waiter_->timer_.SetBy(now + absl::Milliseconds(2));
  waiter_->timer_.SetBy(now + absl::Milliseconds(300));
  loop_->RunUntil([this] { return !waiter_->called_at_.empty(); });
  EXPECT_GE(waiter_->called_at_[0], now + absl::Milliseconds(2));
  EXPECT_LT(waiter_->called_at_[0], now + absl::Milliseconds(300));
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(waiter_->called_at_.size(), 1u);
}

TEST_F(DeadlineTimerTest, OwnerMayAskAgainWhenItIsCalled) {
  waiter_->on_time_ = [this] {
    if (waiter_->called_at_.size() < 3) waiter_->timer_.SetBy(loop_->Now() + absl::Milliseconds(1));
  };
  waiter_->timer_.SetBy(loop_->Now());
  loop_->RunUntil([this] { return waiter_->called_at_.size() == 3; });
}

TEST_F(DeadlineTimerTest, CancelledOrAskedForNothingItDoesNotCall) {
  waiter_->timer_.SetBy(loop_->Now() + absl::Milliseconds(1));
  waiter_->timer_.Cancel();
  waiter_->timer_.SetBy(absl::InfiniteFuture());
  Pass(absl::Milliseconds(5));
  EXPECT_TRUE(waiter_->called_at_.empty());
}

TEST_F(DeadlineTimerTest, OwnerMayBeDestroyedBeforeAndWhileItIsCalled) {
  waiter_->timer_.SetBy(loop_->Now() + absl::Milliseconds(1));
  waiter_.reset();
  Pass(absl::Milliseconds(5));

  waiter_ = std::make_unique<Waiter>(loop_.get());
  waiter_->on_time_ = [this] { waiter_.reset(); };
  waiter_->timer_.SetBy(loop_->Now());
  loop_->RunUntil([this] { return waiter_ == nullptr; });
}

}  // namespace
}  // namespace verbena::transport
