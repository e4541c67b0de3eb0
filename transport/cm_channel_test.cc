#include "transport/cm_channel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

using ::testing::ElementsAre;

constexpr int kEvents = 20;
constexpr int64_t kEachUs = 1500;
static_assert(absl::Microseconds(2 * kEachUs) > CmChannel::kTurnMax);
static_assert(absl::Microseconds(kEachUs) < CmChannel::kTurnMax);
constexpr int kEventsPerTurnMax = 2;  // They reach its end.

// Takes its time for each event: at once, or in a step.
class SlowHandler : public CmHandler {
 public:
  void OnCmEvent(verbs::CmEvent&) override {
    if (by_steps_of == nullptr) return Work();
    by_steps_of->HandleSoon([this] { Work(); });
  }
  void Work() {
    absl::SleepFor(each);
    if (handled++ == 0 && at_first != nullptr) at_first();
  }
  absl::Duration each = absl::Microseconds(kEachUs);
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
    close(std::exchange(fake_.descriptor, eventfd(1, 0)));  // Readable until MakeUnreadable.
    channel_ = *CmChannel::For(loop_.get(), fake_.api());
    id_ = std::make_unique<verbs::ConnectionId>(*verbs::ConnectionId::Create(channel_->channel()));
    channel_->SetHandler(*id_, &handler_);
    AddEvents();
  }

  void AddEvents() {
    rdma_cm_event event = {};
    event.event = RDMA_CM_EVENT_ADDR_RESOLVED;
    event.id = id_->get();
    fake_.cm_events.assign(kEvents, event);
  }
  void MakeReadable() {
    const uint64_t one = 1;
    EXPECT_EQ(write(fake_.descriptor, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }
  void MakeUnreadable() {
    uint64_t one = 0;
    EXPECT_EQ(read(fake_.descriptor, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }
  // False: `condition` did not come about.
  bool RunForLong(absl::FunctionRef<bool()> condition) {
    const absl::Time end = absl::Now() + absl::Seconds(10);
    loop_->RunUntil([&] { return condition() || absl::Now() > end; });
    return condition();
  }

  void ExpectTrafficBetweenThem() {
    Traffic traffic(&handler_);
    loop_->AddSource(&traffic);
    EXPECT_TRUE(RunForLong([this] { return handler_.handled == kEvents; }));
    loop_->RemoveSource(&traffic);
    EXPECT_GE(traffic.most, 1);
    EXPECT_LE(traffic.most, kEventsPerTurnMax);
  }

  verbs::FakeVerbs fake_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
  SlowHandler handler_;
  CmChannel* channel_ = nullptr;
  std::unique_ptr<verbs::ConnectionId> id_;
};

TEST_F(CmChannelTest, BetweenManyEventsThoseWhoAreConnectedHaveTheirTurns) { ExpectTrafficBetweenThem(); }

// As a listener makes its connections.
TEST_F(CmChannelTest, NorDoTheStepsThatEventsAskForHoldThemUp) {
  handler_.by_steps_of = channel_;
  ExpectTrafficBetweenThem();
}

// Of what was left for the next turn; the descriptor says nothing more.
TEST_F(CmChannelTest, ALoopWithinAnOlderTaskGoesOnWithThem) {
  handler_.by_steps_of = channel_;
  bool done = false;
  bool all_handled = false;
  handler_.at_first = [&] {
    MakeUnreadable();
    loop_->Post([&] {
      all_handled = RunForLong([&] { return handler_.handled == kEvents; });
      done = true;
    });
  };
  ASSERT_TRUE(RunForLong([&] { return done; }));
  EXPECT_TRUE(all_handled);
}

TEST_F(CmChannelTest, ALoopWithinAnEventMayHandleThemAll) {
  const auto nothing_is_left = [&] { return handler_.handled == kEvents && !channel_->behind(); };
  for (const absl::Duration each : {handler_.each, absl::ZeroDuration()}) {  // The turn's time is over then, or not.
    handler_.each = each;
    handler_.handled = 0;
    handler_.at_first = [&] {
      MakeUnreadable();
      EXPECT_TRUE(RunForLong(nothing_is_left));
    };
    ASSERT_TRUE(RunForLong([&] { return handler_.handled > 0; }));
    EXPECT_TRUE(RunForLong(nothing_is_left));
    AddEvents();
    MakeReadable();
  }
}

TEST_F(CmChannelTest, ItIsBehindUntilNothingIsLeft) {
  ASSERT_TRUE(RunForLong([&] { return channel_->behind(); }));
  EXPECT_LT(handler_.handled, kEvents);
  ASSERT_TRUE(RunForLong([&] { return !channel_->behind(); }));
  EXPECT_EQ(handler_.handled, kEvents);
}

TEST_F(CmChannelTest, WhatIsLeftGoesWithTheLoopUnhandledBeforeItsChannel) {
  ASSERT_TRUE(RunForLong([&] { return channel_->behind(); }));
  auto request = std::make_shared<verbs::ConnectionId>(*verbs::ConnectionId::Create(channel_->channel()));
  channel_->HandleSoon([request = std::move(request)] { ADD_FAILURE() << "the loop does not run"; });
  const int handled = handler_.handled;
  id_.reset();
  loop_.reset();
  EXPECT_EQ(handler_.handled, handled);
  const std::vector<std::string>& destroyed = fake_.destroyed();
  EXPECT_THAT(std::vector(destroyed.end() - 3, destroyed.end()), ElementsAre("id", "id", "event channel"));
}

}  // namespace
}  // namespace verbena::transport
