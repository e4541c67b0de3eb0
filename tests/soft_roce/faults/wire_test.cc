// A wire that loses packets, is cut, or is pulled out, between a client and a server on a device each: nothing hangs
// past the time limits that are set, every call completes once, and when the wire is whole again the channel goes on.
//
// What a loss costs depends on who sends again. A RoCE device does, a few times, and then its queue pair fails. Under
// an iWARP device it is TCP, for minutes, and nobody tells the device: no loss fails a call, and of a cut the first to
// know is keepalive.

#include "tests/soft_roce/faults/wire.h"

#include <iostream>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/wait_until.h"
#include "tests/soft_roce/faults/connected_devices.h"
#include "transport/log.h"

namespace verbena::soft_roce {
namespace {

using probe::EchoOnce;
using probe::OpenChannel;

// Devices send seven times before they give up, 134 ms apart (100 rounded up to their steps): 0.9 s.
// Within kBound come that, keepalive where the client has nothing on its way, and the end of a connection.
constexpr absl::Duration kAckTimeout = absl::Milliseconds(100);
constexpr absl::Duration kCut = absl::Seconds(5);
// Of a call that is made meanwhile.
constexpr absl::Duration kCallTimeout = absl::Seconds(1);
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

// A call that the server holds for longer than any test lasts. Its channel must end before it.
class HeldCall {
 public:
  void Start(probe::Probe::Stub& stub) {
    request_.set_milliseconds(600000);
    stub.async()->Hold(&context_, &request_, &reply_, [this](absl::Status outcome) {
      status_ = std::move(outcome);
      done_.Notify();
    });
  }
  // Ends as a call does whose connection is lost.
  void ExpectUnavailable() {
    ASSERT_TRUE(done_.WaitForNotificationWithTimeout(kBound));
    EXPECT_EQ(status_.code(), absl::StatusCode::kUnavailable) << status_;
  }

 private:
  probe::HoldRequest request_;
  probe::HoldReply reply_;
  ClientContext context_;
  absl::Status status_;  // Once done_.
  absl::Notification done_;
};

class WireTest : public ConnectedDevices {
 protected:
  void SetUp() override { Connect(Options()); }
  void TearDown() override { stub_.reset(); }  // Before held_.

  void StartSmallCalls(int count) {
    for (int i = 0; i < count; ++i) calls_.Start(*stub_, absl::Cord(std::string(i % 2 == 0 ? 0 : 3000, 's')));
  }
  // Small ones, and such as are fetched, both ways.
  void StartCalls(int count) {
    constexpr size_t kSizes[] = {0, 3000, 30000, 0, 120000};
    for (int i = 0; i < count; ++i) calls_.Start(*stub_, absl::Cord(std::string(kSizes[i % std::size(kSizes)], 'w')));
  }

  HeldCall held_;
  Wire wire_;
};

class DisturbedWireTest : public WireTest, public testing::WithParamInterface<const char*> {
 protected:
  static ChannelOptions PatientOptions() {
    ChannelOptions options = Options();
    // TCP waits twice as long each time before it sends again: of sixty tests that lost 5 % of the packets most took
    // six seconds, and one thirteen.
    if (HasWire() && IsIwarp()) options.transport.keepalive_timeout = absl::Seconds(30);
    return options;
  }
  void SetUp() override { Connect(PatientOptions()); }
};

TEST_P(DisturbedWireTest, EverySmallCallSucceeds) {
  wire_.Disturb(GetParam());
  StartSmallCalls(300);
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  EXPECT_EQ(calls_.ExpectOkOrUnavailable(), 0);
}

// rxe may come to a standstill, with no retry any more, when packets of READs are lost: keepalive must find that out.
TEST_P(DisturbedWireTest, EveryLargeCallEndsInTimeAndTheChannelGoesOn) {
  wire_.Disturb(GetParam());
  StartCalls(100);
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  const int failed = calls_.ExpectOkOrUnavailable();
  if (IsIwarp()) {
    EXPECT_EQ(failed, 0);
  }
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

TEST_P(DisturbedWireTest, ConnectionsAreMade) {
  wire_.Disturb(GetParam());
  for (int i = 0; i < 5; ++i) {
    probe::Probe::Stub stub(OpenChannel(server_->address(), PatientOptions()));
    EXPECT_EQ(EchoOnce(stub, kPatience), absl::OkStatus());
  }
}

// Reordered: a quarter of the packets overtake those that are on their way.
INSTANTIATE_TEST_SUITE_P(Netem, DisturbedWireTest, testing::Values("loss 1%", "loss 5%", "delay 2ms reorder 25%"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return absl::StrReplaceAll(info.param, {{" ", "_"}, {"%", ""}});
                         });

// For want of a connection.
void ExpectACallToEndAtItsDeadline(probe::Probe::Stub& stub) {
  const absl::Time begin = absl::Now();
  EXPECT_EQ(EchoOnce(stub, kCallTimeout).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(absl::Now() - begin, kCallTimeout + kBound);
}

TEST_F(WireTest, WhatIsInFlightWhenItIsCutFailsSoonAndTheChannelGoesOnWhenItIsBack) {
  StartCalls(200);
  wire_.Cut();
  const absl::Time cut = absl::Now();
  StartCalls(20);
  EXPECT_TRUE(calls_.WaitForAll(kBound));
  EXPECT_GT(calls_.ExpectOkOrUnavailable(), 0);
  ExpectACallToEndAtItsDeadline(*stub_);
  absl::SleepFor(cut + kCut - absl::Now());
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

TEST_F(WireTest, ACallThatTheServerHoldsWhenItIsCutIsEndedByKeepalive) {
  held_.Start(*stub_);
  wire_.Cut();
  held_.ExpectUnavailable();
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
}

TEST_F(WireTest, ASmallCallIsEndedByTheDevicesOwnRetriesWhenItIsCut) {
  wire_.Cut();
  const absl::Status status = EchoOnce(*stub_, kPatience);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("retry counter exceeded"));
}

// The port goes down and comes up, and the log says so.
class LinkDownTest : public WireTest {
 protected:
  LinkDownTest() {
    SetLogSink([this](Severity, absl::string_view text) {
      std::cerr << text << std::endl;
      const std::lock_guard lock(mu_);
      absl::StrAppend(&log_, text, "\n");
    });
  }
  ~LinkDownTest() override { SetLogSink(nullptr); }

  bool WaitForLog(absl::string_view words) {
    return WaitUntil(
        [&] {
          const std::lock_guard lock(mu_);
          return absl::StrContains(log_, words);
        },
        kPatience);
  }

 private:
  std::mutex mu_;
  std::string log_ ABSL_GUARDED_BY(mu_);
};

// Calls that have not been sent wait for the next connection.
TEST_F(LinkDownTest, WhatIsInFlightEndsAndTheRestGoesOnWhenItIsUp) {
  held_.Start(*stub_);
  StartCalls(200);
  EXPECT_TRUE(calls_.WaitFor(1, kPatience));  // Then the held one has been sent, too.
  wire_.TakeLinkDown();
  const absl::Time down = absl::Now();
  StartCalls(20);
  EXPECT_TRUE(WaitForLog("port 1 went down"));
  held_.ExpectUnavailable();
  absl::SleepFor(down + kCut - absl::Now());
  wire_.Heal();
  EXPECT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
  EXPECT_TRUE(calls_.WaitForAll(kBound));
  calls_.ExpectOkOrUnavailable();
  EXPECT_TRUE(WaitForLog("port 1 came up"));
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
  wire_.Cut();
  absl::SleepFor(IsIwarp() ? kCut : kShortCut);
  wire_.Heal();
  EXPECT_TRUE(calls_.WaitForAll(kPatience));
  EXPECT_EQ(calls_.ExpectOkOrUnavailable(), 0);
}

}  // namespace
}  // namespace verbena::soft_roce
