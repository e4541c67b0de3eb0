// Frames that arrive before the connection is confirmed on the server's side: they stand for the confirmation as far as
// they were granted, and end the connection beyond that.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/hostile/frames.h"
#include "tests/hostile/hostile_peer.h"
#include "tests/integration/held.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"
#include "transport/log.h"
#include "transport/soft/fault_plan.h"

namespace verbena::hostile {
namespace {

using transport::EventLoop;
using transport::EventLoopGroup;
using transport::Listener;
using transport::TransportCounters;

constexpr uint32_t kNeverMs = 60'000;  // Past every test.

// A listener to which its peers' confirmations come late, so that their frames are the first it hears of them.
class LateConfirmation : public testing::Test {
 protected:
  LateConfirmation() {
    SetLogSink([this](Severity, absl::string_view text) {
      refused_early_ = refused_early_ || absl::StrContains(text, "beyond its credits before the connection was made");
    });
    loops_ = *EventLoopGroup::Start(1, {});
    transport::TransportOptions options;
    options.device = "soft";
    listener_ = *Listener::Listen("soft://127.0.0.1:0", options, {loops_->loop(0)},
                                  [this](std::unique_ptr<transport::Connection> connection) {
                                    ++accepted_;
                                    connection.reset();
                                  });
  }
  ~LateConfirmation() override {
    soft::PlanFaultsOfProcess({});
    listener_.reset();
    loops_.reset();
    SetLogSink(nullptr);
  }

  std::unique_ptr<HostilePeer> ConnectAndSend(int frames) {
    soft::PlanFaultsOfProcess({{.kind = soft::FaultKind::kLateConfirmation, .amount = kNeverMs}});
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Connect(listener_->addresses().front());
    EXPECT_TRUE(peer.ok()) << peer.status();
    if (!peer.ok()) return nullptr;
    for (int i = 0; i < frames; ++i) (*peer)->Send(Control(wire::FrameType::kPing));
    return *std::move(peer);
  }
  // Nothing of it is left, and every receive is posted again.
  void ExpectNothingHeld() {
    const auto nothing = [] {
      const TransportCounters counters = transport::ReadTransportCounters();
      return counters.connections == 0 && counters.receives_posted == counters.receive_buffers;
    };
    EXPECT_TRUE(WaitUntil(nothing, HostilePeer::kPatience)) << DescribeHeld();
  }

  std::atomic<bool> refused_early_ = false;
  std::atomic<int> accepted_ = 0;

 private:
  std::unique_ptr<EventLoopGroup> loops_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(LateConfirmation, FramesWithinTheCreditsStandForIt) {
  const std::unique_ptr<HostilePeer> peer = ConnectAndSend(1);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->WaitForEnd());  // Accepted, and dropped at once by this listener's owner.
  ExpectNothingHeld();
  EXPECT_EQ(accepted_, 1);
  EXPECT_FALSE(refused_early_);
}

TEST_F(LateConfirmation, FramesBeyondTheCreditsEndTheConnectionMadeOrNot) {
  const std::unique_ptr<HostilePeer> peer = ConnectAndSend(60);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->WaitForEnd());
  ExpectNothingHeld();
  EXPECT_NE(refused_early_, accepted_ == 1) << "as all of them came at once, or the first alone";
}

// The loop goes between the turn in which the frame arrived and the next, in which it would have been accepted.
TEST(LoopThatGoes, TakesAConnectionThatAFrameHasJustConfirmedWithIt) {
  soft::PlanFaultsOfProcess({{.kind = soft::FaultKind::kLateConfirmation, .amount = kNeverMs}});
  std::unique_ptr<EventLoop> loop = *EventLoop::Create({.wait = transport::WaitPolicy::kBusy});
  int accepted = 0;
  std::unique_ptr<Listener> listener;
  const auto listen = [&] {  // As the loop's thread.
    transport::TransportOptions options;
    options.device = "soft";
    listener = *Listener::Listen("soft://127.0.0.1:0", options, {loop.get()},
                                 [&](std::unique_ptr<transport::Connection>) { ++accepted; });
    return true;
  };
  loop->RunUntil(listen);
  auto connecting = std::async(std::launch::async, HostilePeer::Connect, listener->addresses().front(), 1, 0);
  loop->RunUntil([&] { return connecting.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  const absl::StatusOr<std::unique_ptr<HostilePeer>> peer = connecting.get();
  ASSERT_TRUE(peer.ok()) << peer.status();
  const uint64_t posted_before = transport::ReadTransportCounters().receives_posted;
  (*peer)->Send(Control(wire::FrameType::kPing));
  const auto arrived = [&] { return transport::ReadTransportCounters().receives_posted < posted_before; };
  const absl::Time give_up = absl::Now() + HostilePeer::kPatience;
  loop->RunUntil([&] { return arrived() || absl::Now() > give_up; });
  ASSERT_TRUE(arrived());
  loop->RunUntil([&] {
    listener.reset();
    return true;
  });
  loop.reset();
  EXPECT_TRUE((*peer)->WaitForEnd());
  EXPECT_EQ(accepted, 0);
  soft::PlanFaultsOfProcess({});
}

}  // namespace
}  // namespace verbena::hostile
