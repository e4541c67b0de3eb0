// Interceptors of calls, at both ends, over a network in memory.

#include "rpc/interceptor/interceptor.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/client_interception.h"
#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";

std::string ValueOf(const google::protobuf::MessageLite& message) { return static_cast<const Text&>(message).value(); }

// Writes down what it sees.
template <typename Context>
class Witness : public CallInterceptor<Context> {
 public:
  Witness(std::string name, absl::Status start, std::vector<std::string>* seen)
      : name_(std::move(name)), start_(std::move(start)), seen_(*seen) {}

  absl::Status OnStart(Context&) override {
    seen_.push_back(name_ + " starts");
    return start_;
  }
  void OnSend(const google::protobuf::MessageLite& message) override {
    seen_.push_back(absl::StrCat(name_, " sends ", ValueOf(message)));
  }
  void OnReceived(const google::protobuf::MessageLite& message) override {
    seen_.push_back(absl::StrCat(name_, " receives ", ValueOf(message)));
  }
  void OnEnd(const Context&, const absl::Status& status) override {
    seen_.push_back(absl::StrCat(name_, " ends ", absl::StatusCodeToString(status.code())));
  }

 private:
  const std::string name_;
  const absl::Status start_;
  std::vector<std::string>& seen_;
};

class InterceptorTest : public testing::StreamFixture {
 protected:
  void AddAtClient(const std::string& name, const absl::Status& start = absl::OkStatus()) {
    options_.interceptors.push_back([this, name, start](const CalledMethod&) {
      return std::make_unique<Witness<ClientContext>>(name, start, &seen_);
    });
  }
  void AddAtServer(const std::string& name, const absl::Status& start = absl::OkStatus()) {
    interceptors_.push_back([this, name, start](const CalledMethod&) {
      return std::make_unique<Witness<ServerContext>>(name, start, &seen_);
    });
  }

  std::vector<std::string> seen_;
};

TEST_F(InterceptorTest, ChainIsPassedForwardsGoingOutAndBackwardsComingIn) {
  AddAtClient("a");
  AddAtClient("b");
  AddAtServer("s");
  Start();
  EXPECT_EQ(Call(kEcho, "hi")->status(), absl::OkStatus());
  EXPECT_THAT(seen_,
              ElementsAre("a starts", "b starts", "a sends hi", "b sends hi", "s starts", "s receives hi", "s sends hi",
                          "s ends OK", "b receives hi", "a receives hi", "b ends OK", "a ends OK"));
}

TEST_F(InterceptorTest, MakerKnowsTheMethodAndMayDecline) {
  std::vector<std::string> methods;
  options_.interceptors.push_back([&methods](const CalledMethod& method) {
    methods.push_back(absl::StrCat(method.name, " ", ToString(method.kind)));
    return nullptr;
  });
  interceptors_.push_back([&methods](const CalledMethod& method) {
    methods.push_back(absl::StrCat(method.name, " ", ToString(method.kind)));
    return nullptr;
  });
  Start();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_THAT(methods, ElementsAre("test.Lambda/Echo unary", "test.Lambda/Echo unary"));
}

// Refuses the first call of a method, having done something with its context.
class RefusingTest : public InterceptorTest {
 protected:
  void RefuseFirst(std::function<void(ServerContext&)> what) {
    interceptors_.push_back([this, what = std::move(what)](const CalledMethod& method) {
      return method.name == kHold ? std::make_unique<Refuser>(this, what) : nullptr;
    });
  }

 private:
  struct Refuser : ServerInterceptor {
    Refuser(RefusingTest* of_test, std::function<void(ServerContext&)> first) : test(of_test), what(std::move(first)) {}
    absl::Status OnStart(ServerContext& context) override {
      if (std::exchange(test->has_refused_, true)) return absl::OkStatus();
      what(context);
      return absl::PermissionDeniedError("no");
    }

    RefusingTest* const test;
    const std::function<void(ServerContext&)> what;
  };

  bool has_refused_ = false;
};

TEST_F(RefusingTest, RefusedCallsCancelCallbackIsDropped) {
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> observed = held;
  RefuseFirst([&held](ServerContext& context) { context.SetCancelCallback([held = std::move(held)] {}); });
  Start();
  EXPECT_EQ(Call(kHold)->status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(observed.expired());
}

// The same memory is the next call's.
TEST_F(RefusingTest, RefusedCallsCancelCallbackDoesNotRunForAnother) {
  int runs = 0;
  RefuseFirst([&runs](ServerContext& context) { context.SetCancelCallback([&runs] { ++runs; }); });
  Start();
  EXPECT_EQ(Call(kHold)->status().code(), absl::StatusCode::kPermissionDenied);
  const auto next = Call(kHold);
  ASSERT_EQ(held_.size(), 1u);
  ClientContext nested;
  nested.FollowServerContext(*held_[0].context);
  next->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_TRUE(held_[0].context->IsCancelled());
  EXPECT_EQ(runs, 0);
}

TEST_F(RefusingTest, CallsOfTheNextHaveNotTheRefusedOnesDeadline) {
  ClientContext audit;
  RefuseFirst([&audit](ServerContext& context) { audit.FollowServerContext(context); });
  Start();
  const auto refused = MakeCall("late");
  refused->context.set_timeout(absl::Milliseconds(10));
  StartCall(kHold, *refused);
  loop_.RunUntilIdle();
  EXPECT_EQ(refused->status().code(), absl::StatusCode::kPermissionDenied);
  loop_.Advance(absl::Seconds(1));
  Call(kHold);
  ASSERT_EQ(held_.size(), 1u);
  const auto nested = MakeCall("nested");
  nested->context.FollowServerContext(*held_[0].context);
  StartCall(kEcho, *nested);
  loop_.RunUntilIdle();
  EXPECT_EQ(nested->status(), absl::OkStatus());
}

// As with a task of a loop that ends: nothing runs any more, and nothing is left.
TEST_F(InterceptorTest, CallThatIsDroppedLetsGoOfWhoWaitsForItThoughItsStreamIsKept) {
  AddAtClient("a");
  auto waits = std::make_shared<int>();
  const std::weak_ptr<int> waiting = waits;
  ClientContext context;
  rpc::UserCall call;
  call.method = kEcho;
  call.context = &context;
  call.stream =
      std::make_shared<rpc::MessageStream>(std::make_shared<transport::LoopHandle>(&loop_), rpc::StreamOptions());
  call.done = [waits = std::move(waits)](const absl::Status&) {};
  ASSERT_EQ(rpc::InterceptCall(options_.interceptors, call), absl::OkStatus());
  EXPECT_FALSE(waiting.expired());
  call.done = nullptr;
  EXPECT_TRUE(waiting.expired());
}

TEST_F(InterceptorTest, ClientsRefusalSendsNothing) {
  AddAtClient("a");
  AddAtClient("b", absl::PermissionDeniedError("not you"));
  AddAtClient("c");
  Start();
  const auto call = Call("test.Lambda/Hold");
  ExpectFailed(*call, absl::StatusCode::kPermissionDenied, Certainty::kNotSent, "not you");
  EXPECT_THAT(held_, IsEmpty());
  EXPECT_THAT(seen_, ElementsAre("a starts", "b starts", "a ends PERMISSION_DENIED"));
}

TEST_F(InterceptorTest, ServersRefusalRunsNoHandler) {
  AddAtServer("s", absl::ResourceExhaustedError("not now"));
  Start();
  const auto call = Call("test.Lambda/Hold");
  ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "not now");
  EXPECT_THAT(held_, IsEmpty());
}

// A server's call, and its chain, serve one call after the other.
TEST_F(InterceptorTest, EachCallIsSeenByItsOwnInterceptorsOnly) {
  int calls = 0;
  interceptors_.push_back([this, &calls](const CalledMethod&) {
    const absl::Status start = ++calls == 2 ? absl::ResourceExhaustedError("not now") : absl::OkStatus();
    return calls == 3 ? nullptr : std::make_unique<Witness<ServerContext>>(absl::StrCat(calls), start, &seen_);
  });
  Start();
  for (const char* word : {"a", "b", "c", "d"}) Call(kEcho, word);
  EXPECT_THAT(seen_, ElementsAre("1 starts", "1 receives a", "1 sends a", "1 ends OK", "2 starts", "4 starts",
                                 "4 receives d", "4 sends d", "4 ends OK"));
}

TEST_F(InterceptorTest, FailedCallEndsWithItsStatusAtBothEnds) {
  AddAtClient("a");
  AddAtServer("s");
  Start();
  const auto call = Call("test.Lambda/Hold", "x");
  held_.at(0).done(absl::AbortedError("never mind"));
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_,
              ElementsAre("a starts", "a sends x", "s starts", "s receives x", "s ends ABORTED", "a ends ABORTED"));
}

TEST_F(InterceptorTest, CancelEndsBothEnds) {
  AddAtClient("a");
  AddAtServer("s");
  Start();
  const auto call = Call("test.Lambda/Hold", "x");
  seen_.clear();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("a ends CANCELLED"));
  held_.at(0).done(absl::OkStatus());  // The reply goes nowhere.
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("a ends CANCELLED", "s ends OK"));
}

TEST_F(InterceptorTest, MessagesOfStreamsAreSeenBothWays) {
  AddAtClient("a");
  AddAtServer("s");
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  seen_.clear();
  call->Write("ping");
  served().Read();
  loop_.RunUntilIdle();
  served().Write("pong");
  call->Read();
  loop_.RunUntilIdle();
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("a sends ping", "s receives ping", "s sends pong", "a receives pong", "s ends OK",
                                 "a ends OK"));
}

// Does something as soon as it sees a message of its call leave.
template <typename Context>
class AtSend : public CallInterceptor<Context> {
 public:
  explicit AtSend(std::function<void(Context*)> what) : what_(std::move(what)) {}

  absl::Status OnStart(Context& context) override {
    context_ = &context;
    return absl::OkStatus();
  }
  void OnSend(const google::protobuf::MessageLite&) override { what_(context_); }

 private:
  const std::function<void(Context*)> what_;
  Context* context_ = nullptr;
};

TEST_F(InterceptorTest, CallMayBeCancelledWhereItsRequestPasses) {
  options_.interceptors.push_back([](const CalledMethod&) {
    return std::make_unique<AtSend<ClientContext>>([](ClientContext* context) { context->TryCancel(); });
  });
  Start();
  EXPECT_EQ(Call("test.Lambda/Hold")->status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(InterceptorTest, CallMayBeCancelledWhereAMessageOfItsStreamPasses) {
  options_.interceptors.push_back([](const CalledMethod&) {
    return std::make_unique<AtSend<ClientContext>>([](ClientContext* context) { context->TryCancel(); });
  });
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Write("ping");
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(call->writes.size(), 1u);
}

TEST_F(InterceptorTest, CallMayBeAnsweredWhereAMessageOfItsStreamPasses) {
  interceptors_.push_back([this](const CalledMethod&) {
    return std::make_unique<AtSend<ServerContext>>(
        [this](ServerContext*) { served().done(absl::AbortedError("never mind")); });
  });
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  served().Write("in time");
  call->Read();
  loop_.RunUntilIdle();
  ASSERT_EQ(served().writes.size(), 1u);
  EXPECT_EQ(served().writes[0], absl::OkStatus());
  EXPECT_THAT(call->received, ElementsAre("in time"));
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].code(), absl::StatusCode::kAborted);
}

TEST_F(InterceptorTest, ChannelMayGoWhereAMessageOfItsStreamPasses) {
  options_.interceptors.push_back([this](const CalledMethod&) {
    return std::make_unique<AtSend<ClientContext>>([this](ClientContext*) { channel_.reset(); });
  });
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Write("ping");
  loop_.RunUntilIdle();
  EXPECT_EQ(call->writes.size(), 1u);
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].code(), absl::StatusCode::kCancelled);
}

TEST_F(InterceptorTest, MetadataAndTimeMayBeGivenToEveryCall) {
  class Signer : public ClientInterceptor {
    absl::Status OnStart(ClientContext& context) override {
      context.set_timeout(absl::Seconds(1));
      return context.AddMetadata("token", "secret");
    }
  };
  options_.interceptors.push_back([](const CalledMethod&) { return std::make_unique<Signer>(); });
  Start();
  const auto call = Call("test.Lambda/Hold");
  EXPECT_EQ(held_.at(0).context->client_metadata().Find("token"), "secret");
  loop_.Advance(absl::Seconds(1));
  ExpectFailed(*call, absl::StatusCode::kDeadlineExceeded, Certainty::kOutcomeUnknown, "deadline");
}

TEST_F(InterceptorTest, CallThatIsMadeAgainIsOneCall) {
  RetryPolicy policy;
  policy.attempts_max = 3;
  policy.idempotent = true;
  options_.retries[""] = policy;
  AddAtClient("a");
  service_.AddCallback("Flaky", [tries = 0](ServerContext*, const Text&, Text*, Responder done) mutable {
    done(++tries < 3 ? absl::UnavailableError("not yet") : absl::OkStatus());
  });
  Start();
  const auto call = Call("test.Lambda/Flaky", "x");
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre("a starts", "a sends x", "a receives ", "a ends OK"));
}

TEST_F(InterceptorTest, WhatItThrowsStaysInIt) {
  class Thrower : public ClientInterceptor {
   public:
    explicit Thrower(bool at_start) : at_start_(at_start) {}
    absl::Status OnStart(ClientContext&) override {
      if (at_start_) throw std::runtime_error("out of luck");
      return absl::OkStatus();
    }
    void OnSend(const google::protobuf::MessageLite&) override { throw std::runtime_error("out of luck"); }
    void OnEnd(const ClientContext&, const absl::Status&) override { throw 1; }

   private:
    const bool at_start_;
  };
  bool at_start = false;
  options_.interceptors.push_back([&at_start](const CalledMethod&) { return std::make_unique<Thrower>(at_start); });
  Start();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  at_start = true;
  ExpectFailed(*Call(kEcho), absl::StatusCode::kInternal, Certainty::kNotSent, "an interceptor threw: out of luck");
}

TEST_F(InterceptorTest, ServersEndIsTheStatusThatIsSent) {
  service_.AddCallback("Boast", [](ServerContext* context, const Text&, Text*, Responder done) {
    for (int i = 0; i < 9; ++i) context->AddTrailingMetadata("key", std::string(1000, 'x')).IgnoreError();
    done(absl::OkStatus());
  });
  AddAtServer("s");
  Start();
  EXPECT_EQ(Call("test.Lambda/Boast")->status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(seen_, ElementsAre("s starts", "s receives hello", "s ends RESOURCE_EXHAUSTED"));
}

}  // namespace
}  // namespace verbena
