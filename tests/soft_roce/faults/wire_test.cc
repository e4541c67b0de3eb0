// A wire that loses packets or is cut, between a client and a server on a device each: nothing hangs past the time
// limits that are set, every call completes once, and when the wire is whole again the channel goes on.
//
// What a loss costs depends on who sends again. A RoCE device does, a few times, and then its queue pair fails. Under
// an iWARP device it is TCP, for minutes, and nobody tells the device: no loss fails a call, and of a cut the first to
// know is keepalive.

#include "tests/soft_roce/faults/wire.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/integration/echo_calls.h"
#include "tests/soft_roce/faults/connected_devices.h"

namespace verbena::soft_roce {
namespace {

using probe::EchoOnce;
using probe::OpenChannel;

// Devices send seven times before they give up, 134 ms apart (100 rounded up to their steps): 0.9 s.
// Within kBound come that, keepalive where the client has nothing on its way, and the end of a connection.
constexpr absl::Duration kAckTimeout = absl::Milliseconds(100);
constexpr absl::Duration kCut = absl::Seconds(5);
// Of the device's retries, of seven seconds: a busy machine may take one for what cuts the wire and what mends it.
constexpr absl::Duration kShortCut = absl::Milliseconds(300);

ChannelOptions Options(absl::Duration ack_timeout = kAckTimeout) {
  ChannelOptions options;
  options.transport.rnr_retry_count = 0;
  options.transport.ack_timeout = ack_timeout;
  // On a wire that loses packets an answer may stand behind READs that take seconds.
  options.transport.keepalive_interval = absl::Seconds(3);
  options.transport.keepalive_timeout = absl::Seconds(5);
  options.connect_timeout = kPatience;
  return options;
}

class WireTest : public ConnectedDevices {
 protected:
  void SetUp() override { Connect(Options()); }

  void StartSmallCalls(int count) {
    for (int i = 0; i < count; ++i) calls_.Start(*stub_, absl::Cord(std::string(i % 2 == 0 ? 0 : 3000, 's')));
  }
  // Small ones, and such as are fetched, both ways.
  void StartCalls(int count) {
    constexpr size_t kSizes[] = {0, 3000, 30000, 0, 120000};
    for (int i = 0; i < count; ++i) calls_.Start(*stub_, absl::Cord(std::string(kSizes[i % std::size(kSizes)], 'w')));
  }

  Wire wire_;
};

class LossTest : public WireTest, public testing::WithParamInterface<int> {};

TEST_P(LossTest, EverySmallCallSucceeds) {
  wire_.Lose(GetParam());
  StartSmallCalls(300);
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  EXPECT_EQ(calls_.ExpectOkOrUnavailable(), 0);
}

// rxe may come to a standstill, with no retry any more, when packets of READs are lost: keepalive must find that out.
TEST_P(LossTest, EveryLargeCallEndsInTimeAndTheChannelGoesOn) {
  wire_.Lose(GetParam());
  StartCalls(100);
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  const int failed = calls_.ExpectOkOrUnavailable();
  if (IsIwarp()) {
    EXPECT_EQ(failed, 0);
  }
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

TEST_P(LossTest, ConnectionsAreMade) {
  wire_.Lose(GetParam());
  for (int i = 0; i < 5; ++i) {
    probe::Probe::Stub stub(OpenChannel(server_->address(), Options()));
    EXPECT_EQ(EchoOnce(stub, kPatience), absl::OkStatus());
  }
}

INSTANTIATE_TEST_SUITE_P(Percent, LossTest, testing::Values(1, 5));

TEST_F(WireTest, WhatIsInFlightWhenItIsCutFailsSoonAndTheChannelGoesOnWhenItIsBack) {
  StartCalls(200);
  wire_.Lose(100);
  const absl::Time cut = absl::Now();
  StartCalls(20);
  EXPECT_TRUE(calls_.WaitForAll(kBound));
  EXPECT_GT(calls_.ExpectOkOrUnavailable(), 0);
  absl::SleepFor(cut + kCut - absl::Now());
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

TEST_F(WireTest, ACallThatTheServerHoldsWhenItIsCutIsEndedByKeepalive) {
  probe::HoldRequest request;
  probe::HoldReply reply;
  request.set_milliseconds(600000);
  ClientContext context;
  absl::Status status;
  absl::Notification done;
  stub_->async()->Hold(&context, &request, &reply, [&](absl::Status outcome) {
    status = std::move(outcome);
    done.Notify();
  });
  wire_.Lose(100);
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(kBound));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

// The device's own retries are the first to end it, where the device has any.
TEST_F(WireTest, ASmallCallIsEndedWhenItIsCutAndSaysByWhat) {
  wire_.Lose(100);
  const absl::Status status = EchoOnce(*stub_, kPatience);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(IsIwarp() ? "keepalive" : "retry counter exceeded"));
}

// The device's for seven seconds, TCP's for minutes, and keepalive leaves both their time.
class SlowRetriesTest : public WireTest {
 protected:
  void SetUp() override {
    ChannelOptions options = Options(absl::Seconds(1));
    options.transport.keepalive_timeout = kPatience;
    Connect(options);
  }
};

TEST_F(SlowRetriesTest, ACutShorterThanTheyLastIsNotNoticed) {
  StartSmallCalls(50);
  wire_.Lose(100);
  absl::SleepFor(IsIwarp() ? kCut : kShortCut);
  wire_.Heal();
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  EXPECT_EQ(calls_.ExpectOkOrUnavailable(), 0);
}

}  // namespace
}  // namespace verbena::soft_roce
