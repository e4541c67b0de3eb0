// Events of the port and of the whole device, and what stops with them.

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

ibv_port_state PortState() {
  ibv_port_attr attributes = {};
  QueryPort(SoftContext(), 1, &attributes);
  return attributes.state;
}

// Enough for the device's thread to finish what it has begun meanwhile.
constexpr int kTurnsMax = 1'000'000;

class PortEvents : public testing::Test {
 protected:
  PortEvents() { DropAsyncEvents(); }
  ~PortEvents() override {
    RaisePortEvent(true);
    DropAsyncEvents();
  }
};

TEST_F(PortEvents, TellOfALostAndARegainedLinkOnce) {
  RaisePortEvent(true);  // Nothing new.
  EXPECT_FALSE(NextAsyncEvent().has_value());
  RaisePortEvent(false);
  RaisePortEvent(false);
  auto event = NextAsyncEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event->element.port_num, 1);
  EXPECT_FALSE(NextAsyncEvent().has_value());
  EXPECT_EQ(PortState(), IBV_PORT_DOWN);
  RaisePortEvent(true);
  EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(PortState(), IBV_PORT_ACTIVE);
}

TEST_F(PortEvents, NothingPassesWhileThePortIsDown) {
  LinkedPair pair;
  pair.right.Receive(1);
  RaisePortEvent(false);
  pair.left.Send(9);
  EXPECT_FALSE(pair.right.PollReceives().has_value());
  EXPECT_FALSE(pair.left.PollSends().has_value());
  RaisePortEvent(true);
  bool sent = false;
  bool received = false;
  for (int turn = 0; turn < kTurnsMax && !(sent && received); ++turn) {
    sent = pair.left.PollSends().has_value() || sent;
    received = pair.right.PollReceives().has_value() || received;
  }
  EXPECT_TRUE(sent && received);
}

TEST_F(PortEvents, SleeperWakesWhenThePortIsUpAgain) {
  LinkedPair pair({.with_channel = true});
  pair.right.Receive(1);
  RaisePortEvent(false);
  ibv_req_notify_cq(pair.left.send_queue, 0);
  pair.left.Send(9);
  EXPECT_EQ(NextCompletionEvent(pair.left.channel), nullptr);
  RaisePortEvent(true);
  ibv_cq* event = nullptr;
  for (int turn = 0; turn < kTurnsMax && event == nullptr; ++turn) {
    event = NextCompletionEvent(pair.left.channel);  // Woken, it hands the request over.
    pair.right.PollReceives();
  }
  EXPECT_EQ(event, pair.left.send_queue);
}

// A failed device stays failed, so each of these is a process of its own.
void AfterTheDeviceFailed(void (*check)()) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        check();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FailedDeviceDeathTest, TellsOnceAndFlushesItsQueuePairs) {
  AfterTheDeviceFailed([] {
    LinkedPair pair;
    pair.right.Receive(1);
    RaiseDeviceFatal();
    RaiseDeviceFatal();
    EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_DEVICE_FATAL);
    EXPECT_FALSE(NextAsyncEvent().has_value());
    EXPECT_EQ(pair.right.PollReceives()->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(pair.left.Send(5), 0);
    EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_WR_FLUSH_ERR);
  });
}

TEST(FailedDeviceDeathTest, MakesAndChangesNothingMore) {
  AfterTheDeviceFailed([] {
    TestEnd end({.shared_receives = true, .with_channel = true});
    RaiseDeviceFatal();
    EXPECT_EQ(AllocProtectionDomain(end.context), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(RegisterMemory(end.domain, end.memory.data(), 64, 0), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(CreateCompletionChannel(end.context), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(CreateCompletionQueue(end.context, 4, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EIO);
    ibv_srq_init_attr shared = {};
    shared.attr.max_wr = 1;
    EXPECT_EQ(CreateSharedReceiveQueue(end.domain, &shared), nullptr);
    EXPECT_EQ(errno, EIO);
    ibv_qp_init_attr attributes = {};
    ibv_qp* queue_pair = nullptr;
    EXPECT_EQ(CreateQueuePair(end.domain, &attributes, &queue_pair), EIO);
    EXPECT_EQ(end.EnterError(), EIO);
    ibv_device_attr device = {};
    EXPECT_EQ(QueryDevice(end.context, &device), EIO);
    ibv_port_attr port = {};
    EXPECT_EQ(QueryPort(end.context, 1, &port), EIO);
  });  // And everything can be destroyed.
}

}  // namespace
}  // namespace verbena::soft
