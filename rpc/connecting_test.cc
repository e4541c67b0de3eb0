// Calls and connections: waiting for one, failing without one, getting one back.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/testing/call_fixture.h"
#include "transport/log.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;

constexpr absl::string_view kEcho = "test.Lambda/Echo";

class ConnectingTest : public testing::CallFixture {};

TEST_F(ConnectingTest, ChannelConnectsAheadOfTheFirstCall) {
  Start();
  EXPECT_EQ(network_.connects(), 1u);
  EXPECT_THAT(channel_->DescribeState(), HasSubstr("connected to memory://server:1"));
}

// The last list holds, so no call says so.
TEST_F(ConnectingTest, ListOfServersThatIsNotToBeHadIsALineInTheLog) {
  std::promise<std::string> logged;
  SetLogSink([&logged](Severity, absl::string_view text) { logged.set_value(std::string(text)); });
  channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, "file:///none/such", options_));
  std::future<std::string> line = logged.get_future();
  EXPECT_EQ(line.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  channel_.reset();
  SetLogSink(nullptr);
  ASSERT_EQ(line.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_THAT(line.get(), HasSubstr("/none/such: No such file or directory"));
}

TEST_F(ConnectingTest, LazyChannelConnectsWithTheFirstCall) {
  options_.connect_ahead = false;
  Start();
  EXPECT_EQ(network_.connects(), 0u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_EQ(network_.connects(), 1u);
}

TEST_F(ConnectingTest, CallWaitsForASlowConnect) {
  network_.set_connect_delay(absl::Seconds(1));
  Start();
  const auto call = Call(kEcho);
  EXPECT_FALSE(call->done());
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, CallWithoutAServerFailsAfterTheConnectTimeoutInWords) {
  OpenChannel();
  const auto call = Call(kEcho);
  loop_.Advance(absl::Milliseconds(2999));
  EXPECT_FALSE(call->done());
  loop_.Advance(absl::Milliseconds(1));
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kNotSent, "nobody listens on server:1");
  EXPECT_THAT(channel_->DescribeState(), HasSubstr("nobody listens"));
}

TEST_F(ConnectingTest, WithoutConnectTimeoutACallFailsWithTheAttempt) {
  options_.connect_timeout = absl::ZeroDuration();
  options_.connect_ahead = false;
  OpenChannel();
  ExpectFailed(*Call(kEcho), absl::StatusCode::kUnavailable, Certainty::kNotSent, "nobody listens on server:1");
}

TEST_F(ConnectingTest, BlockingCallWithoutAServerFailsInWords) {
  OpenChannel();
  ClientContext context;
  testing::Text request, reply;
  const absl::Status status = BlockingUnaryCall(*channel_, kEcho, &context, request, &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nobody listens"));
}

TEST_F(ConnectingTest, WaitingCallGoesToAServerThatStartsLate) {
  OpenChannel();
  const auto call = Call(kEcho);
  loop_.Advance(absl::Seconds(1));
  StartServer();
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, ClientFindsARestartedServer) {
  Start();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  StopServer();
  loop_.Advance(absl::Minutes(1));
  StartServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, AttemptsBackOff) {
  OpenChannel();
  loop_.Advance(absl::Seconds(10));
  const size_t early = network_.connects();
  EXPECT_GE(early, 5u);
  EXPECT_LE(early, 20u);
  loop_.Advance(absl::Minutes(1));
  EXPECT_LE(network_.connects() - early, 16u);
}

TEST_F(ConnectingTest, LazyChannelDoesNotReconnectByItself) {
  options_.connect_ahead = false;
  Start();
  Call(kEcho);
  network_.latest_client()->Sever();
  loop_.Advance(absl::Minutes(1));
  EXPECT_EQ(network_.connects(), 1u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, DrainingServerMakesTheClientConnectElsewhere) {
  Start();
  listener_.reset();
  server_->Drain([] {});
  loop_.RunUntilIdle();
  const auto call = Call(kEcho);
  StopServer();
  StartServer();
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, CallsAreSpreadOverConnections) {
  options_.connections = 3;
  Start();
  EXPECT_EQ(server_->connections(), 3u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_GT(network_.latest_client()->messages_sent(), 1u);
}

TEST_F(ConnectingTest, ChannelClosedWhileConnectingDropsTheAnswer) {
  network_.set_connect_delay(absl::Seconds(1));
  Start();
  const auto call = Call(kEcho);
  channel_.reset();
  loop_.Advance(absl::Seconds(2));
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kNotSent, "channel was destroyed");
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ConnectingTest, BadAddressesAndOptionsAreRefusedAtOnce) {
  for (const absl::string_view address : {"", "host", "host:", "host:0", "host:99999", ":7471", "http://host:1"}) {
    EXPECT_EQ(rpc::ChannelCore::Open(&network_, address, options_).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
  for (const absl::string_view address : {"host:1", "rdma://host:1", "soft://host:1", "[::1]:7471"}) {
    EXPECT_TRUE(rpc::ChannelCore::Open(&network_, address, options_).ok()) << address;
  }
  for (const int connections : {0, 65537, std::numeric_limits<int>::max()}) {
    options_.connections = connections;
    EXPECT_EQ(rpc::ChannelCore::Open(&network_, "host:1", options_).status().code(), absl::StatusCode::kInvalidArgument)
        << connections;
  }
}

TEST_F(ConnectingTest, PolicyOfWhatNoCallIsNamedIsRefusedAtOnce) {
  for (const std::string name : {"/package.Service/Method", "package.Service/", "/", "a/b/c"}) {
    ChannelOptions options = options_;
    options.retries[name] = {};
    const absl::Status status = rpc::ChannelCore::Open(&network_, "host:1", options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("no call is named \"", name, "\"")));
  }
}

TEST_F(ConnectingTest, TimeoutsThatLeaveNoTimeAreRefusedAtOnce) {
  ChannelOptions calls = options_;
  calls.default_timeout = absl::ZeroDuration();
  ChannelOptions idle = options_;
  idle.idle_timeout = absl::Seconds(-1);
  for (const ChannelOptions& options : {calls, idle}) {
    EXPECT_TRUE(absl::IsInvalidArgument(rpc::ChannelCore::Open(&network_, "host:1", options).status()));
  }
}

TEST_F(ConnectingTest, OptionsOfOneServerAreCheckedLikeThoseOfMany) {
  ChannelOptions balanced = options_;
  balanced.balancing.maglev_table_size = 4;
  ChannelOptions intercepted = options_;
  intercepted.interceptors.emplace_back(nullptr);
  for (const ChannelOptions& options : {balanced, intercepted}) {
    EXPECT_TRUE(absl::IsInvalidArgument(rpc::ChannelCore::Open(&network_, "host:1", options).status()));
  }
}

TEST_F(ConnectingTest, StreamWindowIsWithinBounds) {
  for (const uint64_t bytes : {uint64_t{1000}, std::numeric_limits<uint64_t>::max()}) {
    options_.stream_window_bytes = bytes;
    const absl::Status status = rpc::ChannelCore::Open(&network_, "host:1", options_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("it is ", bytes)));
  }
}

TEST_F(ConnectingTest, CallThatWaitsForReadyWaitsAsLongAsItsOwnTimeLasts) {
  OpenChannel();
  auto patient = MakeCall("hello");
  patient->context.set_wait_for_ready(true);
  StartCall(kEcho, *patient);
  auto timed = MakeCall("hello");
  timed->context.set_wait_for_ready(true);
  timed->context.set_timeout(absl::Seconds(10));
  StartCall(kEcho, *timed);
  loop_.Advance(absl::Seconds(20));
  ExpectFailed(*timed, absl::StatusCode::kDeadlineExceeded, Certainty::kNotSent, "nobody listens");
  EXPECT_FALSE(patient->done());
  StartServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(patient->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, IdleConnectionIsClosedAndTheNextCallMakesAnother) {
  options_.idle_timeout = absl::Minutes(1);
  Start();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  loop_.Advance(absl::Seconds(50));
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  loop_.Advance(absl::Seconds(50));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kReady);
  loop_.Advance(absl::Seconds(11));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kIdle);
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(network_.connects(), 1u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_EQ(network_.connects(), 2u);
}

TEST_F(ConnectingTest, ConnectionIsIdleFromItsLastCallOnHoweverManyThereWere) {
  options_.idle_timeout = absl::Minutes(1);
  Start();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
    loop_.Advance(absl::Seconds(40));
  }
  const auto held = Call("test.Lambda/Hold");
  loop_.Advance(absl::Minutes(10));
  held_.at(0).done(absl::OkStatus());
  loop_.Advance(absl::Seconds(59));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kReady);
  EXPECT_EQ(network_.connects(), 1u);
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kIdle);
  loop_.Advance(absl::Hours(1));
  EXPECT_EQ(network_.connects(), 1u);
}

TEST_F(ConnectingTest, ConnectionIsIdleFromACallOnThatWasCancelled) {
  options_.idle_timeout = absl::Minutes(1);
  Start();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  loop_.Advance(absl::Seconds(30));
  const auto held = Call("test.Lambda/Hold");
  held->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(held->status().code(), absl::StatusCode::kCancelled);
  loop_.Advance(absl::Seconds(59));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kReady);
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kIdle);
}

TEST_F(ConnectingTest, ConnectionWithACallIsNotIdle) {
  options_.idle_timeout = absl::Minutes(1);
  Start();
  const auto call = Call("test.Lambda/Hold");
  loop_.Advance(absl::Hours(1));
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kReady);
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(ConnectingTest, ConnectivityIsToldInOrder) {
  OpenChannel();
  std::vector<std::string> told;
  channel_->SetConnectivityCallback([&told](ConnectivityState state) { told.emplace_back(ToString(state)); });
  StartServer();
  loop_.Advance(absl::Seconds(10));
  StopServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(told, (std::vector<std::string>{"TRANSIENT_FAILURE", "READY", "CONNECTING", "TRANSIENT_FAILURE"}));
}

TEST_F(ConnectingTest, ConnectionsThatAreReadyAreCounted) {
  options_.connections = 3;
  OpenChannel();
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(channel_->connections_ready(), 0u);
  StartServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(channel_->connections_ready(), 3u);
  StopServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(channel_->connections_ready(), 0u);
}

TEST_F(ConnectingTest, ConnectivityCallbackMayMakeACall) {
  options_.idle_timeout = absl::Minutes(1);
  Start();
  std::vector<std::string> told;
  auto call = MakeCall("hello");
  channel_->SetConnectivityCallback([&](ConnectivityState state) {
    told.emplace_back(ToString(state));
    if (state == ConnectivityState::kIdle && !call->done()) StartCall(kEcho, *call);
  });
  loop_.Advance(absl::Seconds(90));
  EXPECT_THAT(call->completions, ::testing::ElementsAre(absl::OkStatus()));
  EXPECT_EQ(told, (std::vector<std::string>{"READY", "IDLE", "CONNECTING", "READY"}));
}

TEST_F(ConnectingTest, ConnectivityCallbackThatThrowsIsToldOfTheNextChange) {
  OpenChannel();
  std::vector<std::string> told;
  channel_->SetConnectivityCallback([&told](ConnectivityState state) {
    told.emplace_back(ToString(state));
    throw std::runtime_error("out of luck");
  });
  StartServer();
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(told, (std::vector<std::string>{"TRANSIENT_FAILURE", "READY"}));
}

TEST_F(ConnectingTest, LazyChannelIsIdleUntilItIsToldToConnect) {
  options_.connect_ahead = false;
  Start();
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kIdle);
  channel_->Connect();
  loop_.RunUntilIdle();
  EXPECT_EQ(channel_->connectivity(), ConnectivityState::kReady);
}

TEST_F(ConnectingTest, ChannelThatIsDestroyedBeforeItsLoopRunsLeavesNothingBehind) {
  StartServer();
  channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, options_));
  channel_.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(network_.connects(), 0u);
}

TEST_F(ConnectingTest, WithoutConnectTimeoutACallDoesNotWaitForAnAttemptThatIsNotDue) {
  options_.connect_timeout = absl::ZeroDuration();
  OpenChannel();
  loop_.Advance(absl::Seconds(60));  // The back-off is seconds by now.
  const size_t attempts = network_.connects();
  const auto call = Call(kEcho);
  EXPECT_EQ(network_.connects(), attempts);
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kNotSent, "nobody listens on server:1");
}

TEST_F(ConnectingTest, ConnectivityCallbackMayLookAtTheChannelWhenItIsReplaced) {
  OpenChannel();
  std::shared_ptr<void> looks(nullptr, [this](void*) { channel_->connectivity(); });
  channel_->SetConnectivityCallback([looks = std::move(looks)](ConnectivityState) {});
  channel_->SetConnectivityCallback(nullptr);
}

TEST_F(ConnectingTest, WhoWaitsForAThousandYearsWaitsUntilThereIsAConnection) {
  options_.connect_ahead = false;
  network_.set_connect_delay(absl::Seconds(1));
  Start();
  std::atomic<bool> ready = false, over = false;
  std::thread waiting([&] {
    ready = channel_->WaitUntilReady(absl::Hours(1000 * 365 * 24));
    over = true;
  });
  for (int turns = 0; !over; ++turns) {
    loop_.RunUntilIdle();
    absl::SleepFor(absl::Microseconds(100));
    if (turns > 100) loop_.Advance(absl::Seconds(1));
  }
  waiting.join();
  EXPECT_TRUE(ready);
}

}  // namespace
}  // namespace verbena
