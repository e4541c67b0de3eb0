// Verbena's calls between two hosts: a client and a server in two network namespaces, with a cable that breaks.

#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"
#include "tests/integration/child_process.h"
#include "tests/integration/probe.verbena.h"
#include "transport/soft/stream/testing/test_network.h"

namespace verbena::probe {
namespace {

using soft::TestNetwork;

constexpr size_t kLargeBytes = 24 << 20;

// For what takes no time on a machine with nothing else to do.
constexpr absl::Duration kPatience = absl::Seconds(30);

// A deadline that passes, and how late it may be noticed; a keepalive takes 0.8 s.
constexpr absl::Duration kDeadline = absl::Milliseconds(700);
constexpr absl::Duration kLateMax = absl::Seconds(10);

ChannelOptions Options() {
  ChannelOptions options;
  options.transport.message_bytes_max = uint64_t{1} << 30;
  options.transport.rnr_retry_count = 0;
  options.transport.handshake_timeout = absl::Seconds(1);
  options.transport.keepalive_interval = absl::Milliseconds(300);
  options.transport.keepalive_timeout = absl::Milliseconds(500);
  return options;
}

class TwoHosts : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = TestNetwork::WhyImpossible();
    if (!why.empty()) {
      std::cerr << "SKIPPED: no calls between two hosts: " << why << std::endl;
      GTEST_SKIP() << why;
    }
    setenv("VERBENA_SOFT_TCP_BIND", "0.0.0.0", 1);
    const uint32_t seed = std::random_device()();
    RecordProperty("seed", static_cast<int>(seed));
    network_ = std::make_unique<TestNetwork>(seed);
    network_->At(TestNetwork::kRight, [this] {
      const std::string address = absl::StrCat("soft://", TestNetwork::AddressOf(TestNetwork::kRight), ":0");
      server_ = std::make_unique<ServerProcess>(address);
    });
  }

  // The channel's loop is a thread of the left host, as this one is when it makes the channel.
  std::unique_ptr<Probe::Stub> Connect(const ChannelOptions& options = Options()) {
    std::unique_ptr<Probe::Stub> stub;
    network_->At(TestNetwork::kLeft, [&] {
      absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(server_->address(), options);
      EXPECT_TRUE(channel.ok()) << channel.status();
      if (channel.ok()) stub = std::make_unique<Probe::Stub>(*channel);
    });
    return stub;
  }

  static absl::Status Echo(Probe::Stub& stub) {
    ClientContext context;
    context.set_timeout(kPatience);
    EchoRequest request;
    EchoReply reply;
    request.set_body("across the cable");
    const absl::Status status = stub.Echo(&context, request, &reply);
    EXPECT_TRUE(!status.ok() || reply.body() == request.body());
    return status;
  }
  // Calls until one is answered: the link was down, or a loaded machine was too slow for the keepalive.
  static absl::Status EchoInTheEnd(Probe::Stub& stub) {
    const absl::Time end = absl::Now() + kPatience;
    absl::Status status = Echo(stub);
    while (absl::IsUnavailable(status) && absl::Now() < end) status = Echo(stub);
    return status;
  }

  // A call that the server does not answer, during which the cable breaks. Its status, and how long it took from then.
  struct Outcome {
    absl::Status status;
    absl::Duration after;
  };
  Outcome HoldWhileTheLinkGoesDown(Probe::Stub& stub, absl::Duration timeout) {
    ClientContext context;
    context.set_timeout(timeout);
    HoldRequest request;
    HoldReply reply;
    request.set_milliseconds(absl::ToInt64Milliseconds(kPatience));
    std::promise<Outcome> outcome;
    const absl::Time start = absl::Now();
    stub.async()->Hold(&context, &request, &reply, [&](absl::Status status) {
      outcome.set_value({std::move(status), absl::Now() - start});
    });
    network_->SetLink(TestNetwork::kRight, false);
    return outcome.get_future().get();
  }

  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(TwoHosts, SmallCallIsAnswered) {
  const auto stub = Connect();
  ASSERT_NE(stub, nullptr);
  EXPECT_EQ(EchoInTheEnd(*stub), absl::OkStatus());
}

TEST_F(TwoHosts, LargeAttachmentComesBackWhole) {
  ChannelOptions options = Options();
  options.transport.keepalive_timeout = kPatience;  // Bytes are copied; a loaded machine takes its time.
  const auto stub = Connect(options);
  ASSERT_NE(stub, nullptr);
  PayloadMemory memory = *AllocatePayload(kLargeBytes);
  for (size_t i = 0; i < kLargeBytes; ++i) memory.data()[i] = static_cast<std::byte>(i * 31 + i / 4096);
  const absl::Cord sent = std::move(memory).ToCord();
  ClientContext context;
  context.set_attachment(sent);
  context.set_timeout(kPatience);
  EchoRequest request;
  EchoReply reply;
  ASSERT_EQ(stub->Echo(&context, request, &reply), absl::OkStatus());
  EXPECT_TRUE(context.attachment() == sent);
}

TEST_F(TwoHosts, LinkThatGoesDownUnderACallEndsItAtItsDeadline) {
  const auto stub = Connect();
  ASSERT_NE(stub, nullptr);
  ASSERT_EQ(EchoInTheEnd(*stub), absl::OkStatus());
  const Outcome outcome = HoldWhileTheLinkGoesDown(*stub, kDeadline);
  // The keepalive may be quicker.
  EXPECT_TRUE(absl::IsDeadlineExceeded(outcome.status) || absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_LT(outcome.after, kDeadline + kLateMax);
}

TEST_F(TwoHosts, LinkThatGoesDownEndsACallWithoutADeadlineByKeepalive) {
  const auto stub = Connect();
  ASSERT_NE(stub, nullptr);
  ASSERT_EQ(EchoInTheEnd(*stub), absl::OkStatus());
  const Outcome outcome = HoldWhileTheLinkGoesDown(*stub, absl::InfiniteDuration());
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_LT(outcome.after, kLateMax);
}

TEST_F(TwoHosts, CallSucceedsWhenTheLinkIsBack) {
  const auto stub = Connect();
  ASSERT_NE(stub, nullptr);
  ASSERT_EQ(EchoInTheEnd(*stub), absl::OkStatus());
  HoldWhileTheLinkGoesDown(*stub, absl::InfiniteDuration());
  network_->SetLink(TestNetwork::kRight, true);
  EXPECT_EQ(EchoInTheEnd(*stub), absl::OkStatus());
}

}  // namespace
}  // namespace verbena::probe
