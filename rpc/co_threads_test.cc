// Coroutines and calls on different threads' loops: what goes on where, and what may be destroyed meanwhile.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "rpc/cancelled.h"
#include "rpc/co_client_stream.h"
#include "rpc/co_unary_call.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/when_all.h"
#include "rpc/coroutine/when_any.h"
#include "rpc/testing/threads_fixture.h"

namespace verbena {
namespace {

using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kBlock = "test.Lambda/Block";
constexpr rpc::StreamingMethod kEchoes = {"test.Lambda/Echoes", MethodKind::kBidiStreaming};

class CoThreadsTest : public testing::ThreadsFixture {
 protected:
  CoThreadsTest() : loop_(*transport::EventLoop::Create({})) {
    service_.AddBlockingStream("Echoes", [](ServerContext*, ServerReaderWriter<Text, Text>& stream) {
      Text message;
      while (stream.Read(&message)) {
        if (absl::Status written = stream.Write(message); !written.ok()) return written;
      }
      return absl::OkStatus();
    });
  }

  // On the loop of whoever awaits, while the channel has a loop and a thread of its own.
  Task<absl::Status> Call(absl::string_view method, std::string text) {
    const std::thread::id here = std::this_thread::get_id();
    ClientContext context;
    Text request, reply;
    request.set_value(text);
    absl::Status status = co_await CoUnaryCall<Text, Text>(channel_.get(), method, &context, &request, &reply);
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_TRUE(!status.ok() || reply.value() == text) << reply.value();
    co_return status;
  }

  const std::unique_ptr<transport::EventLoop> loop_;
};

TEST_F(CoThreadsTest, CoroutineGoesOnWhereItAwaited) {
  Start();
  const auto calls = [this]() -> Task<absl::Status> {
    for (int i = 0; i < 200; ++i) {
      absl::Status status = co_await Call(kEcho, std::to_string(i));
      if (!status.ok()) co_return status;
    }
    co_return absl::OkStatus();
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

TEST_F(CoThreadsTest, CallsOfOneCoroutineAreInFlightAtTheSameTime) {
  Start();
  const auto calls = [this]() -> Task<absl::Status> {
    auto [first, second] = co_await WhenAll(Call(kEcho, "a"), Call(kEcho, "b"));
    co_return first.ok() ? second : first;
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

// It is the caller's again when the call has only been handed over.
TEST_F(CoThreadsTest, RequestMayGoBeforeTheChannelsThreadHasTheCall) {
  Start();
  ClientContext context;
  Text reply;
  const auto call = [&](const Text& request) -> Task<absl::Status> {
    co_return co_await CoUnaryCall<Text, Text>(channel_.get(), kEcho, &context, &request, &reply);
  };
  const auto calls = [&]() -> Task<> {
    for (int i = 0; i < 200; ++i) {
      std::optional<absl::Status> end;
      std::optional<Text> request(std::in_place);
      request->set_value(std::to_string(i));
      const RunningTask task = StartTask(call(*request), [&end](absl::Status status) { end = std::move(status); });
      request.reset();
      while (!end.has_value()) co_await Yield(*loop_);
      EXPECT_EQ(end, absl::OkStatus());
      EXPECT_EQ(reply.value(), std::to_string(i));
      context.Reset();
    }
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

// Every loser is destroyed while its call is anywhere.
TEST_F(CoThreadsTest, CallsThatAreGivenUpAtAnyMomentTouchNothing) {
  Start();
  const auto pause = [this](int i) -> Task<void> { co_await SleepFor(*loop_, absl::Microseconds(i)); };
  const auto calls = [&]() -> Task<absl::Status> {
    for (int i = 0; i < 300; ++i) co_await WhenAny(Call(kEcho, "raced"), pause(i));
    co_return co_await Call(kEcho, "last");
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

TEST_F(CoThreadsTest, BlockedHandlerSeesTheCancelOfACoroutineThatIsDestroyed) {
  Start();
  const auto calls = [this]() -> Task<absl::Status> {
    const auto until_blocked = [this]() -> Task<void> {
      while (blocked_ == 0) co_await Yield(*loop_);
    };
    auto first = co_await WhenAny(Call(kBlock, ""), until_blocked());
    EXPECT_EQ(first.index(), 1u);
    while (unblocked_ == 0) co_await Yield(*loop_);
    co_return absl::OkStatus();
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

TEST_F(CoThreadsTest, StreamIsReadAndWrittenFromItsMakersLoop) {
  Start();
  const auto stream = [this]() -> Task<absl::Status> {
    ClientContext context;
    CoClientReaderWriter<Text, Text> echoes(channel_.get(), kEchoes, &context);
    const std::thread::id here = std::this_thread::get_id();
    Text message, answer;
    for (int i = 0; i < 200; ++i) {
      message.set_value(std::to_string(i) + std::string(i * 100, '.'));
      EXPECT_TRUE((co_await echoes.Write(message)).ok());
      EXPECT_TRUE(co_await echoes.Read(&answer));
      EXPECT_EQ(answer.value(), message.value());
      EXPECT_EQ(std::this_thread::get_id(), here);
    }
    echoes.WritesDone();
    EXPECT_FALSE(co_await echoes.Read(&answer));
    co_return co_await echoes.Finish();
  };
  EXPECT_EQ(BlockOn(*loop_, stream()), absl::OkStatus());
}

// On a thread that runs no loop.
TEST_F(CoThreadsTest, CoroutineWithoutALoopGoesOnOnTheChannels) {
  Start();
  std::promise<absl::Status> end;
  const auto call = [this]() -> Task<absl::Status> {
    ClientContext context;
    Text request, reply;
    const std::thread::id before = std::this_thread::get_id();
    absl::Status status = co_await CoUnaryCall<Text, Text>(channel_.get(), kBlock, &context, &request, &reply);
    EXPECT_NE(std::this_thread::get_id(), before);
    co_return status;
  };
  StartTask(call(), [&end](absl::Status status) { end.set_value(std::move(status)); }).Detach();
  released_ = true;  // Not before it waits: there would be nothing to go on from elsewhere.
  EXPECT_EQ(end.get_future().get(), absl::OkStatus());
}

// A handler that has heard of its cancel has time to come to its end.
TEST_F(CoThreadsTest, AServerGoesWhenItsCoroutinesHaveReturned) {
  std::atomic<bool> runs = false, returned = false;
  const auto frame = std::make_shared<int>();
  const auto handler = [&runs, &returned](std::shared_ptr<int> held, ServerContext* context) -> Task<absl::Status> {
    runs = true;
    co_await UntilCancelled(context);
    co_await SleepFor(*transport::EventLoop::OfThisThread(), absl::Milliseconds(20));
    returned = true;
    co_return absl::OkStatus();
  };
  service_.AddCoroutine("Linger", [&](ServerContext* context, const Text*, Text*) { return handler(frame, context); });
  Start();
  std::thread caller([this] { EXPECT_TRUE(absl::IsUnavailable(ThreadsFixture::Call("Linger"))); });
  while (!runs) std::this_thread::yield();
  server_.reset();
  caller.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(frame.use_count(), 1);
}

// What it awaits goes on without it: the call that it makes over another channel is cancelled with its own.
TEST_F(CoThreadsTest, ACoroutineThatCallsOnReturnsWhenItsServerGoes) {
  std::atomic<bool> returned = false;
  service_.AddCoroutine("CallOn", [&](ServerContext*, const Text*, Text*) -> Task<absl::Status> {
    ClientContext context;
    Text request, reply;
    absl::Status status = co_await CoUnaryCall<Text, Text>(channel_.get(), kBlock, &context, &request, &reply);
    returned = true;
    co_return status;
  });
  Start();
  std::thread caller([this] { EXPECT_TRUE(absl::IsUnavailable(ThreadsFixture::Call("CallOn"))); });
  AwaitBlocked(1);
  server_.reset();
  caller.join();
  EXPECT_TRUE(returned);
}

TEST_F(CoThreadsTest, AHandlerThatHoldsUpTheEndOfItsServerIsNamed) {
  std::mutex mu;
  std::string warned;
  SetLogSink([&](Severity, absl::string_view text) {
    const std::lock_guard lock(mu);
    if (absl::StrContains(text, "the end of the server")) warned = std::string(text);
  });
  const auto is_warned = [&] {
    const std::lock_guard lock(mu);
    return !warned.empty();
  };
  std::atomic<bool> runs = false;
  service_.AddCoroutine("Stay", [&](ServerContext*, const Text*, Text*) -> Task<absl::Status> {
    runs = true;
    while (!is_warned()) co_await SleepFor(*transport::EventLoop::OfThisThread(), absl::Milliseconds(5));
    co_return absl::OkStatus();
  });
  Start();
  std::thread caller([this] { EXPECT_TRUE(absl::IsUnavailable(ThreadsFixture::Call("Stay"))); });
  while (!runs) std::this_thread::yield();
  server_.reset();
  caller.join();
  EXPECT_EQ(warned,
            "the end of the server waits for handlers that have not returned, though their calls were cancelled: "
            "test.Lambda/Stay (1)");
  SetLogSink([](Severity, absl::string_view) {});
}

}  // namespace
}  // namespace verbena
