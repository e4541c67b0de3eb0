// Unary calls as coroutines make and handle them, over a network in memory.

#include "rpc/co_unary_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "google/protobuf/arena.h"
#include "rpc/cancelled.h"
#include "rpc/co_handler.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/when_any.h"
#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";
constexpr absl::Duration kAWhile = absl::Seconds(1000);

Task<void> SleepAWhile(transport::EventLoop& loop) { co_await SleepFor(loop, kAWhile); }

Task<void> Turn(transport::EventLoop& loop) { co_await Yield(loop); }

CoUnaryCall<Text, Text> MakeCoCall(Channel& channel, absl::string_view method, ClientContext* context,
                                   const Text& request, Text* reply) {
  return CoUnaryCall<Text, Text>(&channel, method, context, &request, reply);
}

class CoUnaryCallTest : public testing::CallFixture {
 protected:
  Task<absl::Status> CallWith(const Text& request, absl::string_view method) {
    co_return co_await MakeCoCall(*channel_, method, &context_, request, &reply_);
  }
  // What a coroutine that calls has on its frame.
  Task<absl::Status> Call(absl::string_view method, std::string text) {
    Text request;
    request.set_value(std::move(text));
    co_return co_await CallWith(request, method);
  }
  // With a request that changes as soon as the call is made, and goes.
  RunningTask StartCoCall(absl::string_view method, std::string text = "hello") {
    RunningTask task;
    loop_.Post([&] {
      Text request;
      request.set_value(std::move(text));
      task = StartTask(CallWith(request, method), [this](absl::Status status) { end_ = std::move(status); });
      request.set_value("changed");
    });
    loop_.RunUntilIdle();
    return task;
  }

  ClientContext context_;
  Text reply_;
  std::optional<absl::Status> end_;
};

TEST_F(CoUnaryCallTest, ReplyIsThereWhenTheCoroutineGoesOn) {
  Start();
  const RunningTask task = StartCoCall(kEcho, "to and fro");
  EXPECT_EQ(end_, absl::OkStatus());
  EXPECT_EQ(reply_.value(), "to and fro");
}

TEST_F(CoUnaryCallTest, AttachmentsAndMetadataTravelBothWays) {
  service_.AddCallback("Tell", [](ServerContext* context, const Text&, Text*, Responder done) {
    context->set_attachment(context->attachment());
    EXPECT_TRUE(context->AddInitialMetadata("initial", "i").ok());
    EXPECT_TRUE(context->AddTrailingMetadata("trailing", std::string(*context->client_metadata().Find("asked"))).ok());
    done(absl::OkStatus());
  });
  Start();
  context_.set_attachment(absl::Cord("beside"));
  ASSERT_TRUE(context_.AddMetadata("asked", "yes").ok());
  const RunningTask task = StartCoCall("test.Lambda/Tell");
  EXPECT_EQ(end_, absl::OkStatus());
  EXPECT_EQ(context_.attachment(), "beside");
  EXPECT_EQ(context_.initial_metadata().Find("initial"), "i");
  EXPECT_EQ(context_.trailing_metadata().Find("trailing"), "yes");
}

TEST_F(CoUnaryCallTest, FailureComesOutOfTheAwaitAndLeavesTheReply) {
  Start();
  reply_.set_value("as it was");
  const RunningTask task = StartCoCall("test.Lambda/Nonesuch");
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reply_.value(), "as it was");
}

TEST_F(CoUnaryCallTest, CallThatFailsWhileItIsMadeEndsTheAwait) {
  Start();
  context_.set_timeout(absl::ZeroDuration());
  const RunningTask task = StartCoCall(kEcho);
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(GetCertainty(*end_), Certainty::kNotSent);
}

TEST_F(CoUnaryCallTest, TimeoutEndsTheAwait) {
  Start();
  context_.set_timeout(absl::Seconds(1));
  const RunningTask task = StartCoCall(kHold);
  EXPECT_EQ(end_, std::nullopt);
  loop_.Advance(absl::Seconds(1));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(CoUnaryCallTest, TryCancelOfTheUsersContextReachesTheCall) {
  Start();
  const RunningTask task = StartCoCall(kHold);
  context_.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
}

TEST_F(CoUnaryCallTest, ContextThatIsCancelledBeforeMakesNoCall) {
  Start();
  context_.TryCancel();
  const RunningTask task = StartCoCall(kHold);
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(held_.empty());
}

TEST_F(CoUnaryCallTest, DestroyedCoroutineCancelsItsCallAndLetsGoOfItsMemory) {
  Start();
  auto context = std::make_unique<ClientContext>();
  auto reply = std::make_unique<Text>();
  const auto call = [](Channel& channel, ClientContext* of, Text* into) -> Task<absl::Status> {
    const Text request;
    co_return co_await MakeCoCall(channel, kHold, of, request, into);
  };
  RunningTask task =
      StartTask(call(*channel_, context.get(), reply.get()), [this](absl::Status status) { end_ = std::move(status); });
  loop_.RunUntilIdle();
  ASSERT_EQ(held_.size(), 1u);
  task = {};
  context.reset();  // Sanitizers would find a touch.
  reply.reset();
  held_.at(0).reply->set_value("too late");
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, std::nullopt);
  EXPECT_THAT(channel_->DescribeState(), ::testing::HasSubstr("0 calls in flight"));
}

TEST_F(CoUnaryCallTest, DestroyedBeforeThereIsAConnectionIsNeverSent) {
  OpenChannel();  // There is no server.
  RunningTask task = StartCoCall(kHold);
  task = {};
  StartServer();
  loop_.Advance(kAWhile);
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(end_, std::nullopt);
}

TEST_F(CoUnaryCallTest, LoserOfWhenAnyIsCancelled) {
  Start();
  const auto race = [this]() -> Task<absl::Status> {
    ClientContext other_context;
    Text other_reply;
    const auto other = [&]() -> Task<absl::Status> {
      const Text request;
      co_return co_await MakeCoCall(*channel_, kHold, &other_context, request, &other_reply);
    };
    auto first = co_await WhenAny(other(), Call(kEcho, "first"));
    EXPECT_EQ(first.index(), 1u);
    co_return std::get<1>(first);
  };
  const RunningTask task = StartTask(race(), [this](absl::Status status) { end_ = std::move(status); });
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, absl::OkStatus());
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
}

TEST_F(CoUnaryCallTest, ContextMayBeUsedForOneCallAfterTheOther) {
  Start();
  const auto calls = [this]() -> Task<absl::Status> {
    for (int i = 0; i < 1000; ++i) {
      context_.Reset();
      absl::Status status = co_await Call(kEcho, std::to_string(i));
      if (!status.ok() || reply_.value() != std::to_string(i)) co_return absl::InternalError(reply_.value());
    }
    co_return absl::OkStatus();
  };
  const RunningTask task = StartTask(calls(), [this](absl::Status status) { end_ = std::move(status); });
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, absl::OkStatus());
}

// --- The request is the caller's again as soon as the coroutine is suspended, wherever the call is then.

class CoRequestTest : public CoUnaryCallTest {
 protected:
  // Echo, once it has failed.
  void AddFlaky() {
    service_.AddCallback("Flaky", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
      reply->set_value(request.value());
      done(++attempts_ == 2 ? absl::OkStatus() : absl::UnavailableError("not today"));
    });
  }
  void ExpectReply(const std::string& text = "hello") {
    EXPECT_EQ(end_, absl::OkStatus());
    EXPECT_EQ(reply_.value(), text);
  }

  int attempts_ = 0;
};

TEST_F(CoRequestTest, OfACallThatLeavesAtOnce) {
  Start();
  const RunningTask task = StartCoCall(kEcho);
  ExpectReply();
}

TEST_F(CoRequestTest, OfACallThatWaitsForAConnection) {
  OpenChannel();
  const RunningTask task = StartCoCall(kEcho);
  StartServer();
  loop_.Advance(absl::Seconds(10));
  ExpectReply();
}

TEST_F(CoRequestTest, OfACallThatWaitsForCredit) {
  Start();
  network_.latest_client()->Stall();
  const RunningTask task = StartCoCall(kEcho);
  EXPECT_EQ(end_, std::nullopt);
  network_.latest_client()->Unstall();
  loop_.RunUntilIdle();
  ExpectReply();
}

TEST_F(CoRequestTest, OfALargeCall) {
  Start();
  network_.latest_client()->HoldExports();
  const std::string large(100'000, '.');
  const RunningTask task = StartCoCall(kEcho, large);
  EXPECT_EQ(end_, std::nullopt);
  network_.latest_client()->ReleaseExports();
  loop_.RunUntilIdle();
  ExpectReply(large);
}

TEST_F(CoRequestTest, OfACallThatIsMadeAgain) {
  AddFlaky();
  options_.retries[""].attempts_max = 3;
  options_.retries[""].idempotent = true;
  Start();
  const RunningTask task = StartCoCall("test.Lambda/Flaky");
  EXPECT_EQ(end_, std::nullopt);
  loop_.Advance(absl::Seconds(10));
  ExpectReply();
  EXPECT_EQ(attempts_, 2);
}

TEST_F(CoRequestTest, OfAHedgedCall) {
  AddFlaky();
  options_.hedging[""].attempts_max = 3;
  Start();
  const RunningTask task = StartCoCall("test.Lambda/Flaky");
  loop_.Advance(absl::Seconds(10));
  ExpectReply();
  EXPECT_EQ(attempts_, 2);
}

// --- Handlers.

TEST_F(CoUnaryCallTest, HandlerAnswersWhenItsTaskHasFinished) {
  service_.AddCoroutine("Slow", [this](ServerContext*, const Text* request, Text* reply) -> Task<absl::Status> {
    co_await SleepFor(loop_, absl::Seconds(1));
    reply->set_value(request->value() + ", at last");
    co_return absl::OkStatus();
  });
  Start();
  const RunningTask task = StartCoCall("test.Lambda/Slow");
  EXPECT_EQ(end_, std::nullopt);
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(end_, absl::OkStatus());
  EXPECT_EQ(reply_.value(), "hello, at last");
}

TEST_F(CoUnaryCallTest, HandlerThatThrowsIsInternal) {
  service_.AddCoroutine("Throw", [this](ServerContext*, const Text*, Text*) -> Task<absl::Status> {
    co_await Yield(loop_);
    throw std::runtime_error("out of luck");
  });
  Start();
  const RunningTask task = StartCoCall("test.Lambda/Throw");
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(end_->message()), ::testing::HasSubstr("out of luck"));
}

TEST_F(CoUnaryCallTest, HandlerMayAwaitTheEndOfInterest) {
  int given_up = 0;
  service_.AddCoroutine("Wait", [&](ServerContext* context, const Text*, Text*) -> Task<absl::Status> {
    co_await WhenAny(SleepAWhile(loop_), UntilCancelled(context));
    given_up += context->IsCancelled();
    co_return absl::OkStatus();
  });
  Start();
  RunningTask task = StartCoCall("test.Lambda/Wait");
  EXPECT_EQ(given_up, 0);
  task = {};
  loop_.RunUntilIdle();
  EXPECT_EQ(given_up, 1);
}

TEST_F(CoUnaryCallTest, EndOfInterestThatIsNotAwaitedAnyMoreIsNotHeard) {
  service_.AddCoroutine("Wait", [this](ServerContext* context, const Text*, Text*) -> Task<absl::Status> {
    co_await WhenAny(UntilCancelled(context), Turn(loop_));
    co_await SleepFor(loop_, absl::Seconds(1));
    co_return absl::OkStatus();
  });
  Start();
  context_.set_timeout(absl::Milliseconds(10));
  const RunningTask task = StartCoCall("test.Lambda/Wait");
  loop_.Advance(kAWhile);
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), absl::StatusCode::kDeadlineExceeded);
}

// The call that a handler makes after it was suspended follows the handler's, as one does that it makes at once.
TEST_F(CoUnaryCallTest, CallOfASuspendedHandlerFollowsItsOwn) {
  service_.AddCoroutine("Nest", [this](ServerContext*, const Text*, Text*) -> Task<absl::Status> {
    co_await SleepFor(loop_, absl::Milliseconds(1));
    ClientContext nested;
    const Text request;
    Text reply;
    co_return co_await MakeCoCall(*channel_, kHold, &nested, request, &reply);
  });
  Start();
  context_.set_timeout(kAWhile);
  const RunningTask task = StartCoCall("test.Lambda/Nest");
  loop_.Advance(absl::Milliseconds(1));
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_LT(held_.at(0).context->deadline(), absl::InfiniteFuture());
  context_.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
}

// It cannot give away its memory.
TEST_F(CoUnaryCallTest, ReplyOnAnArenaIsFilledThereAndLeftByACallThatFails) {
  Start();
  google::protobuf::Arena arena;
  auto* const reply = google::protobuf::Arena::CreateMessage<Text>(&arena);
  reply->set_value("as it was");
  const auto call = [&](absl::string_view method) -> Task<absl::Status> {
    ClientContext context;
    Text request;
    request.set_value("to the arena");
    co_return co_await MakeCoCall(*channel_, method, &context, request, reply);
  };
  const auto run = [&](absl::string_view method) {
    RunningTask task;
    loop_.Post([&] { task = StartTask(call(method), [this](absl::Status status) { end_ = std::move(status); }); });
    loop_.RunUntilIdle();
  };
  run("test.Lambda/Nonesuch");
  EXPECT_EQ(end_->code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reply->value(), "as it was");
  run(kEcho);
  EXPECT_EQ(end_, absl::OkStatus());
  EXPECT_EQ(reply->value(), "to the arena");
  EXPECT_EQ(reply->GetArena(), &arena);
}

TEST_F(CoUnaryCallTest, ResetLetsGoOfTheAttachment) {
  Start();
  const std::string bytes(100000, 'a');
  bool released = false;
  context_.set_attachment(absl::MakeCordFromExternal(bytes, [&released] { released = true; }));
  const RunningTask task = StartCoCall(kEcho);
  EXPECT_EQ(end_, absl::OkStatus());
  context_.Reset();
  EXPECT_TRUE(released);
}

}  // namespace
}  // namespace verbena
