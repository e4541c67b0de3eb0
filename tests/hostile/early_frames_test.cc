// Frames that arrive before the connection is made on the server's side: kept for later as far as they were granted,
// and the end of the connection beyond that.

#include <atomic>
#include <memory>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/hostile/frames.h"
#include "tests/hostile/hostile_peer.h"
#include "transport/endpoint.h"
#include "transport/log.h"

namespace verbena::hostile {
namespace {

using transport::EventLoop;
using transport::EventLoopGroup;
using transport::Listener;
using transport::TransportCounters;

// A listener whose loop stands still from when it has accepted a connection until the peer's frames are delivered. A
// busy loop looks at the connection manager once in hundreds of turns, and has just done so: what it sees next is the
// frames, and only then that the peer has confirmed the connection.
class SlowServer : public testing::Test {
 protected:
  SlowServer() {
    SetLogSink([this](Severity, absl::string_view text) {
      refused_early_ = refused_early_ || absl::StrContains(text, "beyond its credits before the connection was made");
    });
    loops_ = *EventLoopGroup::Start(1, {.wait = transport::WaitPolicy::kBusy});
    transport::TransportOptions options;
    options.device = "soft";
    listener_ = *Listener::Listen("soft://127.0.0.1:0", options, {loops_->loop(0)},
                                  [this](std::unique_ptr<transport::Connection> connection) {
                                    ++accepted_;
                                    connection.reset();
                                  });
    HoldOnceAccepted(loops_->loop(0));
  }
  ~SlowServer() override {
    if (!delivered_.HasBeenNotified()) delivered_.Notify();
    listener_.reset();
    loops_.reset();
    SetLogSink(nullptr);
  }

  std::unique_ptr<HostilePeer> ConnectAndSend(int frames) {
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Connect(listener_->addresses().front());
    EXPECT_TRUE(peer.ok()) << peer.status();
    if (!peer.ok()) return nullptr;
    for (int i = 0; i < frames; ++i) (*peer)->Send(Control(wire::FrameType::kPing));
    EXPECT_TRUE((*peer)->WaitForDelivery());
    delivered_.Notify();
    return *std::move(peer);
  }
  // Nothing of it is left, and every receive is posted again.
  void ExpectNothingHeld() {
    const absl::Time give_up = absl::Now() + HostilePeer::kPatience;
    TransportCounters counters;
    do {
      counters = transport::ReadTransportCounters();
    } while ((counters.connections > 0 || counters.receives_posted < counters.receive_buffers) &&
             absl::Now() < give_up);
    EXPECT_EQ(counters.connections, 0u);
    EXPECT_EQ(counters.receives_posted, counters.receive_buffers);
  }

  std::atomic<bool> refused_early_ = false;
  std::atomic<int> accepted_ = 0;

 private:
  void HoldOnceAccepted(EventLoop* loop) {
    if (transport::ReadTransportCounters().connections > 0) return delivered_.WaitForNotification();
    if (!delivered_.HasBeenNotified()) loop->Post([this, loop] { HoldOnceAccepted(loop); });
  }

  absl::Notification delivered_;
  std::unique_ptr<EventLoopGroup> loops_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(SlowServer, FramesWithinTheCreditsAreKeptUntilTheConnectionIsMade) {
  const std::unique_ptr<HostilePeer> peer = ConnectAndSend(1);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->WaitForEnd());  // Accepted, and dropped at once by this listener's owner.
  ExpectNothingHeld();
  EXPECT_EQ(accepted_, 1);
  EXPECT_FALSE(refused_early_);
}

TEST_F(SlowServer, FramesBeyondTheCreditsEndItBeforeItIsMade) {
  const std::unique_ptr<HostilePeer> peer = ConnectAndSend(60);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->WaitForEnd());
  ExpectNothingHeld();
  EXPECT_TRUE(refused_early_);
  EXPECT_EQ(accepted_, 0);
}

}  // namespace
}  // namespace verbena::hostile
