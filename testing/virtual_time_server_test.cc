#include "testing/virtual_time_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/auth/shared_secret.h"
#include "rpc/certainty.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "testing/testdata/echo_services.h"

namespace verbena::testing {
namespace {

// Keeps calls unanswered.
class Holding final : public Echo::CallbackService {
 public:
  void Say(ServerContext* context, const Text*, Text*, Responder done) override {
    held.push_back({context, std::move(done)});
  }

  struct Held {
    ServerContext* context;
    Responder done;
  };
  std::vector<Held> held;
};

// Sleeps and calls on.
class Relay final : public Echo::CoService {
 public:
  Task<absl::Status> Say(ServerContext*, const Text*, Text*) override {
    co_await SleepFor(*EventLoop::OfThisThread(), absl::Hours(1));
    co_return absl::OkStatus();
  }
};

// Calls on, as often as the request is long.
class Forwarding final : public Echo::Service {
 public:
  absl::Status Say(ServerContext*, const Text* request, Text* reply) override {
    ++calls;
    if (request->value().empty()) return absl::OkStatus();
    ClientContext context;
    Text shorter;
    shorter.set_value(request->value().substr(1));
    return next->Say(&context, shorter, reply);
  }

  int calls = 0;
  std::optional<Echo::Stub> next;
};

absl::Status Forward(Echo::Stub& stub, size_t times) {
  ClientContext context;
  Text request, reply;
  request.set_value(std::string(times, '.'));
  return stub.Say(&context, request, &reply);
}

// A call by callback, with what it needs to live.
struct Call {
  Call(Echo::Stub& stub, absl::Duration timeout) {
    context.set_timeout(timeout);
    stub.async()->Say(&context, &request, &reply, [this](absl::Status outcome) { status = std::move(outcome); });
  }
  ClientContext context;
  Text request;
  Text reply;
  std::optional<absl::Status> status;
};

template <typename Service>
class VirtualTimeTest : public ::testing::Test {
 protected:
  void Connect(const ChannelOptions& options = {}) {
    channel_ = *server_->NewChannel(options);
    stub_.emplace(channel_);
    server_->RunUntilIdle();
  }
  absl::Time Now() { return server_->loop().WallNow(); }

  Service service_;
  std::unique_ptr<VirtualTimeServer> server_ = *VirtualTimeServer::Start({&service_});
  std::shared_ptr<Channel> channel_;
  std::optional<Echo::Stub> stub_;
};

using HoldingTest = VirtualTimeTest<Holding>;
using RelayTest = VirtualTimeTest<Relay>;
using BlockingTest = VirtualTimeTest<BlockingEcho>;

TEST_F(HoldingTest, TimePassesOnlyWhenItIsLet) {
  Connect();
  const Call call(*stub_, absl::Hours(10));
  server_->RunUntilIdle();
  server_->Advance(absl::Hours(10) - absl::Nanoseconds(1));
  EXPECT_FALSE(call.status.has_value());
  server_->Advance(absl::Nanoseconds(1));
  ASSERT_TRUE(call.status.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*call.status));
  EXPECT_TRUE(service_.held.at(0).context->IsCancelled());
}

TEST_F(HoldingTest, DeadlineOfTheServerGoesByTheSameClock) {
  Connect();
  server_->Advance(absl::Hours(100));
  const Call call(*stub_, absl::Seconds(7));
  server_->RunUntilIdle();
  EXPECT_EQ(service_.held.at(0).context->deadline(), Now() + absl::Seconds(7));
  server_->Advance(absl::Seconds(7));
  EXPECT_TRUE(call.status.has_value());
}

TEST_F(HoldingTest, BlockingCallPassesItsDeadlineAtOnce) {
  Connect();
  ClientContext context;
  context.set_deadline(Now() + absl::Hours(5));
  const absl::Time before = Now();
  Text reply;
  EXPECT_TRUE(absl::IsDeadlineExceeded(stub_->Say(&context, {}, &reply)));
  EXPECT_EQ(Now() - before, absl::Hours(5));
}

TEST_F(HoldingTest, ShutdownsGracePassesOnTheClock) {
  Connect();
  const Call call(*stub_, absl::InfiniteDuration());
  server_->RunUntilIdle();
  EXPECT_EQ(server_->counters().calls_in_flight, 1u);
  const absl::Time before = Now();
  server_->Shutdown(absl::Minutes(3));
  server_->RunUntilIdle();
  EXPECT_EQ(Now() - before, absl::Minutes(3));
  ASSERT_TRUE(call.status.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*call.status)) << *call.status;
}

TEST_F(HoldingTest, SameTestTakesTheSameCourseTwice) {
  const auto attempts_at = [](Holding& service) {
    const auto server = *VirtualTimeServer::Start({&service});
    server->faults().SetReachable(false);
    const auto channel = *server->NewChannel();
    std::vector<std::string> states;
    for (int i = 0; i < 50; ++i) {
      server->Advance(absl::Milliseconds(100));
      states.push_back(channel->DescribeState());
    }
    return states;
  };
  EXPECT_EQ(attempts_at(service_), attempts_at(service_));
}

TEST_F(HoldingTest, WaitForAConnectionTakesTheClocksTime) {
  server_->faults().SetConnectDelay(absl::Hours(2));
  channel_ = *server_->NewChannel();
  const absl::Time before = Now();
  EXPECT_FALSE(channel_->WaitUntilReady(absl::Hours(1)));
  EXPECT_EQ(Now() - before, absl::Hours(1));
  EXPECT_TRUE(channel_->WaitUntilReady(absl::InfiniteDuration()));
  EXPECT_EQ(Now() - before, absl::Hours(2));
}

TEST_F(RelayTest, SleepOfACoroutineTakesNoRealTime) {
  Connect();
  const Call call(*stub_, absl::InfiniteDuration());
  server_->Advance(absl::Minutes(59));
  EXPECT_FALSE(call.status.has_value());
  server_->Advance(absl::Minutes(1));
  EXPECT_EQ(call.status, absl::OkStatus());
}

TEST_F(BlockingTest, BlockingHandlerRunsWithTheLoop) {
  Connect();
  const Call call(*stub_, absl::InfiniteDuration());
  server_->RunUntilIdle();
  EXPECT_EQ(call.status, absl::OkStatus());
}

TEST_F(BlockingTest, HandlerThatWaitsForAMessageIsCancelledByItsDeadline) {
  Connect();
  ClientContext context;
  context.set_timeout(absl::Hours(1));
  auto stream = stub_->Chat(&context);
  server_->Advance(absl::Minutes(59));
  EXPECT_EQ(server_->counters().calls_in_flight, 1u);
  server_->Advance(absl::Minutes(1));
  EXPECT_EQ(server_->counters().calls_in_flight, 0u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->Finish()));
}

TEST_F(BlockingTest, CallsPastTheExecutorsThreadsWaitAndPastItsQueueAreRefused) {
  ServerOptions options;
  options.executor_threads = 1;
  options.executor_queue_max = 1;
  server_ = *VirtualTimeServer::Start({&service_}, options);
  Connect();
  ClientContext context;
  auto stream = stub_->Chat(&context);
  server_->RunUntilIdle();
  const Call waiting(*stub_, absl::InfiniteDuration());
  const Call refused(*stub_, absl::InfiniteDuration());
  server_->RunUntilIdle();
  EXPECT_FALSE(waiting.status.has_value());
  ASSERT_TRUE(refused.status.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(*refused.status));
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
  server_->RunUntilIdle();
  EXPECT_EQ(waiting.status, absl::OkStatus());
}

TEST(VirtualTimeServer, HandlersCallEachOtherOverAChannelOfTheirServer) {
  Forwarding service;
  const auto server = *VirtualTimeServer::Start({&service});
  service.next.emplace(*server->NewChannel());
  EXPECT_EQ(Forward(*service.next, 1), absl::OkStatus());
  EXPECT_EQ(service.calls, 2);
  service.next.reset();
}

TEST(VirtualTimeServer, HandlersOfServersBesideEachOtherCallEachOther) {
  Forwarding front, back;
  const auto front_server = *VirtualTimeServer::Start({&front});
  const auto back_server = *VirtualTimeServer::StartBeside(*front_server, {&back});
  front.next.emplace(*back_server->NewChannel());
  back.next.emplace(*front_server->NewChannel());
  EXPECT_EQ(Forward(*back.next, 3), absl::OkStatus());
  EXPECT_EQ(front.calls, 2);
  EXPECT_EQ(back.calls, 2);
  front.next.reset();
  back.next.reset();
}

TEST(VirtualTimeServer, ServersBesideEachOtherHaveOneClock) {
  Holding first, second;
  const auto server = *VirtualTimeServer::Start({&first});
  const auto beside = *VirtualTimeServer::StartBeside(*server, {&second});
  Echo::Stub stub(*beside->NewChannel());
  const Call call(stub, absl::Hours(1));
  server->Advance(absl::Hours(1));
  EXPECT_EQ(second.held.size(), 1u);
  ASSERT_TRUE(call.status.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*call.status));
  EXPECT_EQ(&server->loop(), &beside->loop());
}

TEST(VirtualTimeServer, FaultsOfOneServerLeaveTheOneBesideItAlone) {
  BlockingEcho service;
  const auto server = *VirtualTimeServer::Start({&service});
  const auto beside = *VirtualTimeServer::StartBeside(*server, {&service});
  beside->faults().SetReachable(false);
  Echo::Stub reached(*server->NewChannel());
  Echo::Stub unreached(*beside->NewChannel());
  EXPECT_EQ(Forward(reached, 0), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Forward(unreached, 0)));
}

TEST(VirtualTimeServer, EndOfOneServerLeavesTheOneBesideItAtWork) {
  Holding holding;
  BlockingEcho echo;
  auto first = *VirtualTimeServer::Start({&holding});
  const auto beside = *VirtualTimeServer::StartBeside(*first, {&echo});
  Echo::Stub to_first(*first->NewChannel());
  Echo::Stub to_beside(*beside->NewChannel());
  const Call call(to_first, absl::InfiniteDuration());
  beside->RunUntilIdle();
  first.reset();
  beside->RunUntilIdle();
  ASSERT_TRUE(call.status.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*call.status)) << *call.status;
  EXPECT_EQ(Forward(to_beside, 0), absl::OkStatus());
}

TEST(VirtualTimeServer, BadOptionsAreRefusedInWords) {
  ServerOptions options;
  options.executor_threads = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(VirtualTimeServer::Start({}, options).status()));
  ServerOptions tiny;
  tiny.transport.receive_buffer_bytes = 1;
  EXPECT_TRUE(absl::IsInvalidArgument(VirtualTimeServer::Start({}, tiny).status()));
}

TEST(VirtualTimeServer, CredentialsAreRefusedForNobodyWouldLookAtThem) {
  const auto server = *VirtualTimeServer::Start({});
  ChannelOptions options;
  options.credentials = *SharedSecret::Create({{"key", std::string(32, 's')}});
  EXPECT_TRUE(absl::IsUnimplemented(server->NewChannel(options).status()));
}

}  // namespace
}  // namespace verbena::testing
