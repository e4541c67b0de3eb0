#include "transport/cm_channel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr int kEvents = 20;
// Two of 15 ms reach the end of 20; twice that, where a turn looks last and the next one goes on first.
constexpr int kEventsPerTurnMax = 4;

// Takes its time for each event.
class SlowHandler : public CmHandler {
 public:
  void OnCmEvent(verbs::CmEvent&) override {
    absl::SleepFor(absl::Milliseconds(15));
    if (handled++ == 0 && at_first != nullptr) at_first();
  }
  int handled = 0;
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
  const std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
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

TEST_F(CmChannelTest, ALoopWithinAnOlderTaskGoesOnWithThem) {
  bool done = false;
  const auto all_handled = [this] { return handler_.handled == kEvents; };
  handler_.at_first = [&] {
    loop_->Post([&] {  // Runs before the task that goes on with the events, and lasts until they are handled.
      loop_->RunUntil(all_handled);
      done = true;
    });
  };
  loop_->RunUntil([&] { return done; });
  EXPECT_TRUE(all_handled());
}

TEST_F(CmChannelTest, WhatIsLeftForTheNextTurnEndsWithTheLoop) {
  loop_->RunUntil([this] { return handler_.handled > 0; });
  EXPECT_LE(handler_.handled, kEventsPerTurnMax);
  EXPECT_FALSE(fake_.cm_events.empty());
}

}  // namespace
}  // namespace verbena::transport
