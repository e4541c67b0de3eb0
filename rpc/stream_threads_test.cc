// Streams on real threads, blocking ones mostly, over a network in memory.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/blocking_stream.h"
#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/reactors.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "rpc/server_core.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/memory_network.h"
#include "rpc/unary_call.h"
#include "transport/log.h"

namespace verbena {
namespace {

using testing::Text;
using Stream = ClientReaderWriter<Text, Text>;

constexpr absl::string_view kAddress = "server:1";
constexpr rpc::StreamingMethod kEcho = {"test.Lambda/Echo", MethodKind::kBidiStreaming};
constexpr rpc::StreamingMethod kFlood = {"test.Lambda/Flood", MethodKind::kBidiStreaming};
constexpr rpc::StreamingMethod kListen = {"test.Lambda/Listen", MethodKind::kBidiStreaming};

Text TextOf(std::string value) {
  Text text;
  text.set_value(std::move(value));
  return text;
}

class StreamThreadsTest : public ::testing::Test {
 protected:
  StreamThreadsTest() {
    SetLogSink([](Severity, absl::string_view) {});
    service_.AddBlockingStream("Echo", [](ServerContext*, auto& stream) {
      Text text;
      absl::Cord attachment;
      while (stream.Read(&text, &attachment)) {
        if (absl::Status written = stream.Write(text, std::move(attachment)); !written.ok()) return written;
      }
      return absl::OkStatus();
    });
    // Writes for as long as somebody reads.
    service_.AddBlockingStream("Flood", [this](ServerContext* context, auto& stream) {
      const Text text = TextOf(std::string(1000, '.'));
      while (stream.Write(text).ok()) {
      }
      cancelled_ += context->IsCancelled() ? 1 : 0;
      return absl::CancelledError("nobody reads");
    });
    // Reads for as long as somebody writes.
    service_.AddBlockingStream("Listen", [this](ServerContext* context, auto& stream) {
      Text text;
      while (stream.Read(&text)) heard_.release();
      cancelled_ += context->IsCancelled() ? 1 : 0;
      return absl::OkStatus();
    });
    service_.AddBlocking("Unary", [](ServerContext*, const Text&, Text*) { return absl::OkStatus(); });
    server_options_.loops = 2;
    channel_options_.loops = 2;
    channel_options_.connections = 3;
  }
  ~StreamThreadsTest() override {
    channel_.reset();
    server_.reset();
    SetLogSink(nullptr);
  }

  void Start() {
    server_ = std::make_unique<Server>(
        *rpc::ServerCore::Start(&network_, server_options_, {std::string(kAddress)}, {&service_}));
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, channel_options_));
  }

  testing::MemoryNetwork network_;
  testing::LambdaService service_;
  ServerOptions server_options_;
  ChannelOptions channel_options_;
  std::counting_semaphore<> heard_{0};  // A message by Listen.
  std::atomic<int> cancelled_ = 0;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
};

TEST_F(StreamThreadsTest, EachReadsItsOwnMessagesInOrderWhileItWrites) {
  Start();
  constexpr int kMessages = 200;
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([this, caller, &right] {
      ClientContext context;
      Stream stream(channel_, kEcho, &context);
      const auto text_of = [caller](int i) {
        return absl::StrCat(caller, ":", i, std::string(i % 10 == 0 ? 10000 : 0, 'x'));
      };
      std::thread writer([&stream, &text_of] {
        for (int i = 0; i < kMessages; ++i) {
          EXPECT_EQ(stream.Write(TextOf(text_of(i)), absl::Cord(text_of(i))), absl::OkStatus());
        }
        stream.WritesDone();
      });
      Text text;
      absl::Cord attachment;
      for (int i = 0; i < kMessages && stream.Read(&text, &attachment); ++i) {
        right += text.value() == text_of(i) && attachment == text_of(i) ? 1 : 0;
      }
      EXPECT_FALSE(stream.Read(&text));
      writer.join();
      EXPECT_EQ(stream.Finish(), absl::OkStatus());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 4 * kMessages);
}

TEST_F(StreamThreadsTest, CancelFreesAHandlerThatWaitsToWrite) {
  Start();
  ClientContext context;
  Stream stream(channel_, kFlood, &context);
  Text text;
  ASSERT_TRUE(stream.Read(&text));
  context.TryCancel();
  EXPECT_TRUE(absl::IsCancelled(stream.Finish()));
  server_.reset();  // Waits for the handler.
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(StreamThreadsTest, StreamThatIsDestroyedUnfinishedFreesAHandlerThatWaitsToRead) {
  Start();
  {
    ClientContext context;
    Stream stream(channel_, kListen, &context);
    ASSERT_EQ(stream.Write(TextOf("a")), absl::OkStatus());
    heard_.acquire();  // Else the handler may never run.
  }
  server_.reset();
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(StreamThreadsTest, ServersEndFreesWhoReadsAndWhoWrites) {
  Start();
  ClientContext context;
  Stream stream(channel_, kListen, &context);
  ASSERT_EQ(stream.Write(TextOf("a")), absl::OkStatus());
  std::thread reader([&stream] {
    Text text;
    EXPECT_FALSE(stream.Read(&text));
  });
  server_.reset();
  reader.join();
  const absl::Status status = stream.Finish();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::IsCancelled(stream.Write(TextOf("b"))));
}

// Whether it is the last or not: the handler is not to take it for the end of what it was sent.
TEST_F(StreamThreadsTest, HandlerWhoseRequestIsNoMessageKnowsThatItsCallIsOver) {
  Start();
  constexpr int kCalls = 100;
  for (int i = 0; i < kCalls; ++i) {
    ClientContext context;
    Stream stream(channel_, kListen, &context);
    EXPECT_TRUE(stream.Write(TextOf("\xff")).ok());
    if (i % 2 == 0) stream.Write(TextOf("good")).IgnoreError();
    stream.WritesDone();
    EXPECT_TRUE(absl::IsInvalidArgument(stream.Finish()));
  }
  server_.reset();  // Whose handlers have returned then.
  EXPECT_EQ(cancelled_, kCalls);
}

// Whether the response is here by then or not.
TEST_F(StreamThreadsTest, ReplyThatIsNoMessageEndsTheCallInOneWay) {
  service_.AddBlockingStream("Bad", [](ServerContext*, auto& stream) { return stream.Write(TextOf("\xff")); });
  Start();
  static constexpr rpc::StreamingMethod kBad = {"test.Lambda/Bad", MethodKind::kBidiStreaming};
  for (int i = 0; i < 100; ++i) {
    ClientContext context;
    Stream stream(channel_, kBad, &context);
    Text text;
    if (i % 2 == 0) std::this_thread::yield();
    EXPECT_FALSE(stream.Read(&text));
    const absl::Status status = stream.Finish();
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_EQ(GetCertainty(status), Certainty::kOutcomeUnknown);
  }
}

TEST_F(StreamThreadsTest, StreamOnALoopsThreadIsRefusedInWords) {
  Start();
  std::promise<absl::Status> status;
  ClientContext outer;
  Text request;
  Text reply;
  CallbackUnaryCall(*channel_, "test.Lambda/Unary", &outer, &request, &reply, [this, &status](absl::Status) {
    absl::Status refused;
    {
      ClientContext context;
      Stream stream(channel_, kEcho, &context);
      Text text;
      EXPECT_FALSE(stream.Read(&text));
      EXPECT_TRUE(absl::IsFailedPrecondition(stream.Write(text)));
      stream.WritesDone();
      refused = stream.Finish();
    }
    status.set_value(refused);  // When nothing is left here that holds the channel: the test's end must be its own.
  });
  const absl::Status refused = status.get_future().get();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

// Its user may hold it, as a call does.
struct CountingReactor : ClientBidiReactor<Text, Text> {
  using rpc::StreamReactor::Hold;
  using rpc::StreamReactor::Release;

  void OnReadDone(bool) override { ++reactions; }
  void OnWriteDone(bool) override { ++reactions; }
  void OnDone(const absl::Status& status) override { done.set_value(status); }

  std::atomic<int> reactions = 0;
  std::promise<absl::Status> done;
};

// Some come before the channel's loop is gone, some after, and some are posted before and run after.
TEST_F(StreamThreadsTest, OperationsBesideTheChannelsEndHaveTheirReactions) {
  constexpr int kRounds = 50;
  channel_options_.loops = 1;
  Start();
  for (int round = 0; round < kRounds; ++round) {
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, channel_options_));
    CountingReactor reactor;
    ClientContext context;
    Text text, incoming;
    reactor.Bind(channel_.get(), kListen, &context, nullptr, nullptr);
    reactor.Hold();
    reactor.StartCall();
    std::thread end([this] { channel_.reset(); });
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    reactor.StartWrite(&text);
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    reactor.StartRead(&incoming);
    reactor.Release();
    EXPECT_TRUE(absl::IsCancelled(reactor.done.get_future().get()));
    EXPECT_EQ(reactor.reactions, 2);
    end.join();
  }
}

struct CountingServerReactor : ServerBidiReactor<Text, Text> {
  using rpc::StreamReactor::Hold;
  using rpc::StreamReactor::Release;

  void OnReadDone(bool) override { ++reactions; }
  void OnWriteDone(bool) override { ++reactions; }
  void OnDone() override { done.set_value(); }

  std::atomic<int> reactions = 0;
  std::promise<void> done;
};

TEST_F(StreamThreadsTest, OperationsBesideTheServersEndHaveTheirReactions) {
  constexpr int kRounds = 50;
  constexpr rpc::StreamingMethod kReact = {"test.Lambda/React", MethodKind::kBidiStreaming};
  CountingServerReactor* next = nullptr;
  std::binary_semaphore bound(0);
  service_.AddStream("React", MethodKind::kBidiStreaming, [&](auto*, const Text&, Text*, auto stream, Responder done) {
    rpc::BindServerReactor(next, "React", std::move(stream), std::move(done));
    bound.release();
  });
  channel_options_.connections = 1;
  for (int round = 0; round < kRounds; ++round) {
    CountingServerReactor reactor;
    next = &reactor;
    Start();
    ClientContext context;
    Stream stream(channel_, kReact, &context);
    bound.acquire();
    reactor.Hold();
    std::thread end([this] { server_.reset(); });
    Text text, incoming;
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    reactor.StartWrite(&text);
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    reactor.StartRead(&incoming);
    reactor.Finish(absl::OkStatus());
    reactor.Release();
    reactor.done.get_future().wait();
    EXPECT_EQ(reactor.reactions, 2);
    end.join();
  }
}

TEST_F(StreamThreadsTest, UserThatOwnsTheLoopDrivesItWhileHeWaits) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  channel_options_.loop = loop.get();
  Start();
  {
    ClientContext context;
    Stream stream(channel_, kEcho, &context);
    Text text;
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(stream.Write(TextOf(absl::StrCat(i))), absl::OkStatus());
      ASSERT_TRUE(stream.Read(&text));
      EXPECT_EQ(text.value(), absl::StrCat(i));
    }
    EXPECT_EQ(stream.Finish(), absl::OkStatus());
  }
  channel_.reset();
}

TEST_F(StreamThreadsTest, EndOfAChannelOnAnOwnedLoopBringsEachReaction) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  channel_options_.loop = loop.get();
  Start();
  CountingReactor reactor;
  ClientContext context;
  Text incoming;
  reactor.Bind(channel_.get(), kListen, &context, nullptr, nullptr);
  reactor.StartCall();  // The loop does not run: both wait in it.
  reactor.StartRead(&incoming);
  channel_.reset();
  EXPECT_TRUE(absl::IsCancelled(reactor.done.get_future().get()));
  EXPECT_EQ(reactor.reactions, 1);
}

TEST_F(StreamThreadsTest, LoopThatIsStoppedEndsItsStreams) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  channel_options_.loop = loop.get();
  Start();
  ClientContext context;
  {
    Stream stream(channel_, kListen, &context);
    ASSERT_EQ(stream.Write(TextOf("a")), absl::OkStatus());
    loop->Stop();
    Text text;
    EXPECT_FALSE(stream.Read(&text));
    EXPECT_TRUE(absl::IsCancelled(stream.Write(TextOf("b"))));
  }
  channel_.reset();
}

}  // namespace
}  // namespace verbena
