#include "transport/cm_channel.h"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/soft/soft_api.h"

namespace verbena::transport {
namespace {

constexpr int kIds = 100;

struct CountingHandler : CmHandler {
  void OnCmEvent(verbs::CmEvent& event) override {
    EXPECT_EQ(event.type(), RDMA_CM_EVENT_ADDR_RESOLVED);
    ++events;
  }
  int events = 0;
};

class CmChannelTest : public testing::TestWithParam<WaitPolicy> {
 protected:
  CmChannelTest() : loop_(*EventLoop::Create({.wait = GetParam()})), channel_(*CmChannel::For(loop_.get(), Api())) {}
  ~CmChannelTest() override { ids_.clear(); }

  static const verbs::VerbsApi& Api() { return soft::SoftApi(); }

  // One event for each id, all of them waiting to be read.
  void RaiseEvents() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const destination = reinterpret_cast<const sockaddr*>(&address);
    for (int i = 0; i < kIds; ++i) {
      ids_.push_back(*verbs::ConnectionId::Create(channel_->channel()));
      channel_->SetHandler(ids_.back(), &handler_);
      ASSERT_EQ(ids_.back().ResolveAddress(nullptr, destination, absl::Seconds(10)), absl::OkStatus());
    }
    pollfd readable = {.fd = channel_->channel().fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1);
    absl::SleepFor(absl::Milliseconds(100));  // The rest follow.
  }

  std::unique_ptr<EventLoop> loop_;
  CmChannel* const channel_;
  CountingHandler handler_;
  std::vector<verbs::ConnectionId> ids_;
};

TEST_P(CmChannelTest, AStormOfEventsHoldsUpNoTurnOfTheLoop) {
  RaiseEvents();
  int before = 0;
  int most = 0;
  int turns = 0;
  loop_->RunUntil([&] {
    most = std::max(most, handler_.events - before);
    turns += handler_.events > before ? 1 : 0;
    before = handler_.events;
    return before == kIds;
  });
  EXPECT_LE(most, CmChannel::kEventsPerTurn * 2);  // Once as a task, once as the file descriptor is looked at.
  EXPECT_GE(turns, kIds / (CmChannel::kEventsPerTurn * 2));
}

// Those that are left over do not wait until the loop looks at its file descriptors again.
TEST_P(CmChannelTest, WhatIsLeftOverIsHandledInTheNextTurn) {
  RaiseEvents();
  int turns = 0;
  loop_->RunUntil([&] {
    turns += handler_.events > 0 ? 1 : 0;
    return handler_.events == kIds;
  });
  EXPECT_LE(turns, (kIds / CmChannel::kEventsPerTurn) + 5);
}

INSTANTIATE_TEST_SUITE_P(Waiting, CmChannelTest, testing::Values(WaitPolicy::kBusy, WaitPolicy::kEvent));

}  // namespace
}  // namespace verbena::transport
