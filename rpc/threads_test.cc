// Channels and servers with threads of their own: blocking handlers, blocking callers, shutdown. Run under TSan.

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_core.h"
#include "rpc/testing/threads_fixture.h"
#include "rpc/unary_call.h"

namespace verbena {
namespace {

using testing::Text;

class ThreadsTest : public testing::ThreadsFixture {};

TEST_F(ThreadsTest, BlockingCallsFromManyThreadsGetTheirOwnReplies) {
  server_options_.loops = 2;
  channel_options_.loops = 2;
  channel_options_.connections = 3;
  Start();
  std::vector<std::thread> callers;
  std::atomic<int> right = 0;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([this, caller, &right] {
      for (int i = 0; i < 50; ++i) {
        const std::string text = absl::StrCat(caller, ":", i, std::string(i % 10 == 0 ? 10000 : 0, 'x'));
        Text reply;
        if (Call(i % 2 == 0 ? "Echo" : "Later", text, &reply).ok() && reply.value() == text) ++right;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 300);
}

TEST_F(ThreadsTest, CallbackCallsFromManyThreadsCompleteOnce) {
  Start();
  constexpr int kCalls = 200;
  struct Kept {
    ClientContext context;
    Text request, reply;
    std::atomic<int> completions = 0;
  };
  std::vector<Kept> kept(2 * kCalls);
  std::latch all(2 * kCalls);
  const auto start = [&](int first) {
    for (int i = first; i < first + kCalls; ++i) {
      CallbackUnaryCall(*channel_, "test.Lambda/Echo", &kept[i].context, &kept[i].request, &kept[i].reply,
                        [&, i](absl::Status) {
                          ++kept[i].completions;
                          all.count_down();
                        });
      if (i % 3 == 0) kept[i].context.TryCancel();
    }
  };
  std::thread other([&] { start(kCalls); });
  start(0);
  other.join();
  all.wait();
  channel_.reset();
  for (Kept& one : kept) EXPECT_EQ(one.completions, 1);
}

TEST_F(ThreadsTest, ThrowingBlockingHandlerEndsItsCallAsInternal) {
  Start();
  const absl::Status status = Call("Throw");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(GetCertainty(status), Certainty::kExecuted);
  EXPECT_TRUE(Call("Echo").ok());
}

TEST_F(ThreadsTest, CallsPastTheExecutorsQueueAreRefusedEarly) {
  server_options_.executor_threads = 1;
  server_options_.executor_queue_max = 1;
  Start();
  std::thread running([this] { EXPECT_TRUE(Call("Block").ok()); });
  AwaitBlocked(1);
  std::thread waiting([this] { EXPECT_TRUE(Call("Block").ok()); });
  while (server_->counters().calls_in_flight < 2) std::this_thread::yield();
  const absl::Status status = Call("Echo");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  released_ = true;
  running.join();
  waiting.join();
}

TEST_F(ThreadsTest, CancelledCallInTheExecutorsQueueNeverRuns) {
  server_options_.executor_threads = 1;
  Start();
  std::thread running([this] { EXPECT_TRUE(Call("Block").ok()); });
  AwaitBlocked(1);
  ClientContext context;
  context.set_timeout(absl::Milliseconds(20));
  Text request, reply;
  EXPECT_EQ(BlockingUnaryCall(*channel_, "test.Lambda/Block", &context, request, &reply).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Call("Later").ok());  // Behind the cancel message on the same connection: the server has seen that.
  released_ = true;
  running.join();
  while (server_->counters().calls_in_flight > 0) std::this_thread::yield();
  EXPECT_EQ(blocked_, 1);
}

TEST_F(ThreadsTest, ShutdownLetsCallsFinishAndWaitReturns) {
  Start();
  absl::Status status;
  std::thread caller([&] { status = Call("Block"); });
  AwaitBlocked(1);
  std::thread waiter([this] { server_->Wait(); });
  std::thread releaser([this] {
    while (server_->counters().calls_in_flight > 0) released_ = true;
  });
  server_->Shutdown(absl::Minutes(1));
  caller.join();
  waiter.join();
  releaser.join();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(server_->counters().connections, 0u);
}

TEST_F(ThreadsTest, ShutdownGivesUpAtItsDeadline) {
  Start();
  absl::Status status;
  std::thread caller([&] { status = Call("Block"); });
  AwaitBlocked(1);
  server_->Shutdown(absl::Milliseconds(20));
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetCertainty(status), Certainty::kOutcomeUnknown);
  while (unblocked_ < 1) std::this_thread::yield();  // IsCancelled told the handler.
}

TEST_F(ThreadsTest, CallThatIsAnsweredWhenTheServerIsGoneKnowsItsPeer) {
  ServerContext* context = nullptr;
  Responder done;
  service_.AddCallback("Keep", [&](ServerContext* of_call, const Text&, Text*, Responder responder) {
    context = of_call;
    done = std::move(responder);
    ++blocked_;
  });
  Start();
  std::thread caller([this] { EXPECT_EQ(Call("Keep").code(), absl::StatusCode::kUnavailable); });
  AwaitBlocked(1);
  const std::string peer = context->peer();
  std::atomic<bool> gone = false;
  std::thread answerer([&] {
    while (!gone) {
      EXPECT_EQ(context->peer(), peer);
      std::this_thread::yield();
    }
    EXPECT_EQ(context->peer(), peer);
    EXPECT_TRUE(context->IsCancelled());
    done(absl::OkStatus());
  });
  server_.reset();
  gone = true;
  answerer.join();
  caller.join();
}

TEST_F(ThreadsTest, DestroyedServerEndsEverything) {
  Start();
  absl::Status status;
  std::thread caller([&] { status = Call("Block"); });
  AwaitBlocked(1);
  server_.reset();
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(unblocked_, 1);
}

TEST_F(ThreadsTest, ClientFindsARestartedServer) {
  Start();
  EXPECT_TRUE(Call("Echo").ok());
  server_.reset();
  server_ = std::make_unique<Server>(
      *rpc::ServerCore::Start(&network_, server_options_, {std::string(kAddress)}, {&service_}));
  absl::Status status = Call("Echo");
  // The first may still have gone to the old connection.
  if (absl::IsUnavailable(status)) status = Call("Echo");
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ThreadsTest, ChannelMayDieOnItsOwnLoop) {
  Start();
  ClientContext context;
  Text request, reply;
  std::latch done(1);
  std::weak_ptr<Channel> dead = channel_;
  Channel& channel = *channel_;
  CallbackUnaryCall(channel, "test.Lambda/Echo", &context, &request, &reply,
                    [kept = std::move(channel_), &done](absl::Status) mutable {
                      kept.reset();
                      done.count_down();
                    });
  done.wait();
  EXPECT_TRUE(dead.expired());
  while (server_->counters().connections > 0) std::this_thread::yield();  // Shut down by a thread of its own.
}

TEST_F(ThreadsTest, BlockingCallInACallbackHandlerIsRefused) {
  absl::Status nested;
  service_.AddCallback("Nest", [&](ServerContext*, const Text&, Text*, Responder done) {
    nested = Call("Echo");
    done(absl::OkStatus());
  });
  Start();
  EXPECT_TRUE(Call("Nest").ok());
  EXPECT_EQ(nested.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ThreadsTest, ServerRefusesWhatMakesNoSense) {
  const auto code = [this](std::vector<std::string> addresses, std::vector<Service*> services) {
    return rpc::ServerCore::Start(&network_, server_options_, addresses, services).status().code();
  };
  EXPECT_EQ(code({}, {&service_}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"server:1"}, {&service_, &service_}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"server:1"}, {nullptr}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"server:1", "server:1"}, {&service_}), absl::StatusCode::kAlreadyExists);
  server_options_.interceptors.emplace_back(nullptr);
  EXPECT_EQ(code({"server:1"}, {&service_}), absl::StatusCode::kInvalidArgument);
  server_options_.interceptors.clear();
  server_options_.executor_threads = 0;
  EXPECT_EQ(code({"server:1"}, {&service_}), absl::StatusCode::kInvalidArgument);
}

class ThrowingService : public testing::LambdaService {
 public:
  void OnServerStart(const std::vector<std::string>&) override {
    if (throws_at_start) throw std::runtime_error("out of luck");
  }
  void OnServerDrain() override { throw std::runtime_error("out of luck"); }

  bool throws_at_start = false;
};

TEST_F(ThreadsTest, ServiceThatThrowsWhenItHearsOfTheStartIsNotServed) {
  ThrowingService service;
  service.throws_at_start = true;
  const absl::Status status = rpc::ServerCore::Start(&network_, server_options_, {"server:1"}, {&service}).status();
  EXPECT_EQ(status, absl::InternalError("test.Lambda::OnServerStart threw: out of luck"));
}

TEST_F(ThreadsTest, ServiceThatThrowsWhenItHearsOfTheDrainDoesNotHoldItUp) {
  ThrowingService service;
  server_ = std::make_unique<Server>(*rpc::ServerCore::Start(&network_, server_options_, {"server:1"}, {&service}));
  server_->Shutdown(absl::InfiniteDuration());
  server_->Wait();
  server_.reset();
}

TEST_F(ThreadsTest, ServerListensOnSeveralAddresses) {
  server_ =
      std::make_unique<Server>(*rpc::ServerCore::Start(&network_, server_options_, {"one:0", "two:2"}, {&service_}));
  ASSERT_EQ(server_->addresses().size(), 2u);
  for (const std::string& address : server_->addresses()) {
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, address, channel_options_));
    EXPECT_TRUE(Call("Echo").ok());
  }
}

}  // namespace
}  // namespace verbena
