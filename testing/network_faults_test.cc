#include "testing/network_faults.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "rpc/certainty.h"
#include "rpc/client_context.h"
#include "testing/in_process_server.h"
#include "testing/testdata/echo_services.h"
#include "testing/virtual_time_server.h"

namespace verbena::testing {
namespace {

class NetworkFaultsTest : public ::testing::Test {
 protected:
  NetworkFaultsTest() { server_->RunUntilIdle(); }
  absl::Status Say(absl::Duration timeout = absl::InfiniteDuration()) {
    ClientContext context;
    context.set_timeout(timeout);
    Text request, reply;
    request.set_value("hello");
    return stub_.Say(&context, request, &reply);
  }
  absl::Duration TimeOf(const std::function<void()>& action) {
    const absl::Time before = server_->loop().Now();
    action();
    return server_->loop().Now() - before;
  }

  CoEcho service_;
  std::unique_ptr<VirtualTimeServer> server_ = *VirtualTimeServer::Start({&service_});
  std::shared_ptr<Channel> channel_ = *server_->NewChannel();
  Echo::Stub stub_{channel_};
};

// A stream that is open while something happens.
struct OpenStream {
  explicit OpenStream(Echo::Stub& stub) : stream(stub.Chat(&context)) {
    Text text;
    EXPECT_EQ(stream->Write(text), absl::OkStatus());
    EXPECT_TRUE(stream->Read(&text));
  }
  ClientContext context;
  std::unique_ptr<ClientReaderWriter<Text, Text>> stream;
};

TEST_F(NetworkFaultsTest, CutConnectionFailsWhatIsInFlightAndTheNextCallConnectsAgain) {
  const OpenStream open(stub_);
  server_->faults().CutConnections();
  EXPECT_TRUE(absl::IsUnavailable(open.stream->Finish()));
  EXPECT_EQ(Say(), absl::OkStatus());
}

TEST_F(NetworkFaultsTest, UnreachableServerFailsCallsUnsentUntilItIsReachable) {
  server_->faults().SetReachable(false);
  const absl::Status status = Say(absl::Minutes(1));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  server_->faults().SetReachable(true);
  server_->Advance(absl::Minutes(1));
  EXPECT_EQ(Say(absl::Seconds(1)), absl::OkStatus());
}

TEST_F(NetworkFaultsTest, SilentServerIsNoticedByKeepalive) {
  const OpenStream open(stub_);
  server_->faults().SetSilent(true);
  const TransportOptions defaults;
  const absl::Duration time = TimeOf([&] { EXPECT_TRUE(absl::IsUnavailable(open.stream->Finish())); });
  EXPECT_EQ(time, defaults.keepalive_interval + defaults.keepalive_timeout);
}

TEST_F(NetworkFaultsTest, CallToASilentServerPassesItsDeadline) {
  server_->faults().SetSilent(true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Say(absl::Seconds(2))));
}

TEST_F(NetworkFaultsTest, ServerThatSpeaksAgainIsReachedOverANewConnection) {
  server_->faults().SetSilent(true);
  server_->Advance(absl::Minutes(1));
  server_->faults().SetSilent(false);
  server_->Advance(absl::Minutes(1));
  EXPECT_EQ(Say(absl::Seconds(1)), absl::OkStatus());
}

TEST_F(NetworkFaultsTest, MessagesTakeTheirTimeEachWay) {
  server_->faults().SetMessageDelay(absl::Milliseconds(100));
  EXPECT_EQ(TimeOf([this] { EXPECT_EQ(Say(), absl::OkStatus()); }), absl::Milliseconds(200));
  server_->faults().SetMessageDelay(absl::ZeroDuration());
  server_->Advance(absl::Seconds(1));
  EXPECT_EQ(TimeOf([this] { EXPECT_EQ(Say(), absl::OkStatus()); }), absl::ZeroDuration());
}

TEST_F(NetworkFaultsTest, DelayThatShrinksReordersNothing) {
  ClientContext context;
  Text text, joined;
  auto writer = stub_.Join(&context, &joined);
  for (const char* part : {"a", "b", "c"}) {
    server_->faults().SetMessageDelay(absl::Seconds(part[0] == 'a' ? 5 : 0));
    text.set_value(part);
    EXPECT_EQ(writer->Write(text), absl::OkStatus());
    server_->RunUntilIdle();
  }
  EXPECT_EQ(writer->Finish(), absl::OkStatus());
  EXPECT_EQ(joined.value(), "abc");
}

TEST_F(NetworkFaultsTest, ConnectTakesItsTime) {
  server_->faults().SetConnectDelay(absl::Seconds(2));
  const std::shared_ptr<Channel> channel = *server_->NewChannel();
  Echo::Stub stub(channel);
  ClientContext context;
  Text reply;
  EXPECT_EQ(TimeOf([&] { EXPECT_EQ(stub.Say(&context, {}, &reply), absl::OkStatus()); }), absl::Seconds(2));
}

TEST(InProcessFaults, CutConnectionFailsABlockedCallOfAnotherThread) {
  CoEcho service;
  const auto server = *InProcessServer::Start({&service});
  Echo::Stub stub(*server->NewChannel());
  const OpenStream open(stub);
  server->faults().SetMessageDelay(absl::Milliseconds(1));
  server->faults().CutConnections();
  EXPECT_TRUE(absl::IsUnavailable(open.stream->Finish()));
  ClientContext context;
  Text reply;
  EXPECT_EQ(stub.Say(&context, {}, &reply), absl::OkStatus());
}

TEST(InProcessFaults, WhatIsUnderWayOnATestsOwnLoopMayComeAfterTheServersEnd) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  const auto run_for = [&loop](absl::Duration duration) {
    bool passed = false;
    loop->AddTimer(loop->Now() + duration, [&passed] { passed = true; });
    loop->RunUntil([&passed] { return passed; });
  };
  {
    CoEcho service;
    const auto server = *InProcessServer::Start({&service});
    server->faults().SetConnectDelay(absl::Milliseconds(20));
    ChannelOptions options;
    options.loop = loop.get();
    const std::shared_ptr<Channel> channel = *server->NewChannel(options);
    run_for(absl::Milliseconds(1));
  }
  run_for(absl::Milliseconds(40));
}

}  // namespace
}  // namespace verbena::testing
