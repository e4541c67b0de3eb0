#include "transport/cm_channel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr int kEvents = 20;
constexpr int64_t kEachMs = 15;
static_assert(absl::Milliseconds(2 * kEachMs) > CmChannel::kAtATimeMax);
static_assert(absl::Milliseconds(kEachMs) < CmChannel::kAtATimeMax);
// Two reach its end; twice that, where a turn goes on with what was left and looks at the descriptor besides.
constexpr int kEventsPerTurnMax = 4;

// Takes its time for each event: at once, or in a step.
class SlowHandler : public CmHandler {
 public:
  void OnCmEvent(verbs::CmEvent&) override {
    if (by_steps_of == nullptr) return Work();
    by_steps_of->HandleSoon([this] { Work(); });
  }
  void Work() {
    absl::SleepFor(absl::Milliseconds(kEachMs));
    if (handled++ == 0 && at_first != nullptr) at_first();
  }
  int handled = 0;
  CmChannel* by_steps_of = nullptr;
  absl::AnyInvocable<void()> at_first;
};

// The traffic of those who are connected: how many events were handled between two of its turns, at most.
class Traffic : public PollSource {
 public:
  explicit Traffic(const SlowHandler* handler) : handler_(*handler) {}
  int Poll() override {
    most = std::max(most, handler_.handled - before_);
    before_ = handler_.handled;
    return 1;
  }
  void Arm() override {}
  void OnReadable(int) override {}
  int most = 0;

 private:
  const SlowHandler& handler_;
  int before_ = 0;
};

class CmChannelTest : public testing::Test {
 protected:
  CmChannelTest() {
    fake_.descriptor = descriptor_;
    channel_ = *CmChannel::For(loop_.get(), fake_.api());
    id_ = std::make_unique<verbs::ConnectionId>(*verbs::ConnectionId::Create(channel_->channel()));
    channel_->SetHandler(*id_, &handler_);
    rdma_cm_event event = {};
    event.event = RDMA_CM_EVENT_ADDR_RESOLVED;
    event.id = id_->get();
    fake_.cm_events.assign(kEvents, event);
  }
  ~CmChannelTest() override { close(descriptor_); }

  verbs::FakeVerbs fake_;
  const int descriptor_ = eventfd(1, 0);  // Readable for ever.
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
  SlowHandler handler_;
  CmChannel* channel_ = nullptr;
  std::unique_ptr<verbs::ConnectionId> id_;
};

TEST_F(CmChannelTest, BetweenManyEventsThoseWhoAreConnectedHaveTheirTurns) {
  Traffic traffic(&handler_);
  loop_->AddSource(&traffic);
  loop_->RunUntil([this] { return handler_.handled == kEvents; });
  loop_->RemoveSource(&traffic);
  EXPECT_GE(traffic.most, 1);
  EXPECT_LE(traffic.most, kEventsPerTurnMax);
}

// As a listener makes its connections.
TEST_F(CmChannelTest, NorDoTheStepsThatEventsAskForHoldThemUp) {
  handler_.by_steps_of = channel_;
  Traffic traffic(&handler_);
  loop_->AddSource(&traffic);
  loop_->RunUntil([this] { return handler_.handled == kEvents; });
  loop_->RemoveSource(&traffic);
  EXPECT_GE(traffic.most, 1);
  EXPECT_LE(traffic.most, kEventsPerTurnMax);
}

TEST_F(CmChannelTest, ALoopWithinAnOlderTaskGoesOnWithThem) {
  bool done = false;
  bool all_handled = false;
  handler_.at_first = [&] {
    loop_->Post([&] {  // Runs before the task that goes on with the events, and lasts until they are handled.
      const absl::Time end = absl::Now() + absl::Seconds(60);
      loop_->RunUntil([&] { return handler_.handled == kEvents || absl::Now() > end; });
      all_handled = handler_.handled == kEvents;
      done = true;
    });
  };
  loop_->RunUntil([&] { return done; });
  EXPECT_TRUE(all_handled);
}

TEST_F(CmChannelTest, ItIsBehindUntilNothingIsLeft) {
  bool behind = false;
  handler_.at_first = [&] { loop_->Post([&] { behind = channel_->behind(); }); };
  loop_->RunUntil([&] { return handler_.handled > 0 && behind; });
  EXPECT_LT(handler_.handled, kEvents);
  loop_->RunUntil([&] { return !channel_->behind(); });
  EXPECT_EQ(handler_.handled, kEvents);
}

TEST_F(CmChannelTest, WhatIsLeftGoesWithTheLoopUnhandled) {
  handler_.by_steps_of = channel_;
  loop_->RunUntil([this] { return handler_.handled > 0; });
  const int handled = handler_.handled;
  ASSERT_TRUE(channel_->behind());
  id_.reset();
  loop_.reset();  // With a task that would go on, and steps.
  EXPECT_EQ(handler_.handled, handled);
  EXPECT_LE(handled, kEventsPerTurnMax);
}

}  // namespace
}  // namespace verbena::transport
