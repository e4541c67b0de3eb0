// Streams as coroutines read and write them, over a network in memory.

#include "rpc/co_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/co_client_stream.h"
#include "rpc/co_handler.h"
#include "rpc/co_server_stream.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/when_all.h"
#include "rpc/coroutine/when_any.h"
#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using testing::Text;

constexpr rpc::StreamingMethod kUpload = {"test.Lambda/Upload", MethodKind::kClientStreaming};
constexpr rpc::StreamingMethod kList = {"test.Lambda/List", MethodKind::kServerStreaming};
constexpr rpc::StreamingMethod kChat = {"test.Lambda/Chat", MethodKind::kBidiStreaming};
constexpr rpc::StreamingMethod kByHand = {"test.Lambda/bidirectional-streaming", MethodKind::kBidiStreaming};

Task<void> SleepAWhile(transport::EventLoop& loop) { co_await SleepFor(loop, absl::Seconds(1)); }

Text TextOf(std::string value) {
  Text text;
  text.set_value(std::move(value));
  return text;
}

Task<absl::Status> Upload(ServerContext*, CoServerReader<Text>* reader, Text* reply) {
  Text message;
  while (co_await reader->Read(&message)) reply->set_value(reply->value() + message.value());
  co_return absl::OkStatus();
}

Task<absl::Status> List(ServerContext*, const Text* request, CoServerWriter<Text>* writer) {
  for (int i = 0; i < std::stoi(request->value()); ++i) {
    absl::Status written = co_await writer->Write(TextOf(std::to_string(i) + std::string(10000, '.')));
    if (!written.ok()) co_return written;
  }
  co_return absl::DataLossError("no more");
}

Task<absl::Status> Chat(ServerContext*, CoServerReaderWriter<Text, Text>* stream) {
  AsyncGenerator<Text> messages = stream->Messages();
  while (std::optional<Text> message = co_await messages.Next()) {
    absl::Status written = co_await stream->Write(TextOf("re: " + message->value()));
    if (!written.ok()) co_return written;
  }
  co_return absl::OkStatus();
}

class CoStreamTest : public testing::StreamFixture {
 protected:
  CoStreamTest() {
    service_.AddStream("Upload", MethodKind::kClientStreaming,
                       [](ServerContext* context, const Text&, Text* reply, std::shared_ptr<rpc::MessageStream> stream,
                          Responder done) {
                         auto streams = std::make_unique<CoServerReader<Text>>(std::move(stream));
                         auto handler = Upload(context, streams.get(), reply);
                         rpc::RunCoHandler(context, std::move(handler), std::move(streams), std::move(done));
                       });
    service_.AddStream("List", MethodKind::kServerStreaming,
                       [](ServerContext* context, const Text& request, Text*,
                          std::shared_ptr<rpc::MessageStream> stream, Responder done) {
                         auto streams = std::make_unique<CoServerWriter<Text>>(std::move(stream));
                         auto handler = List(context, &request, streams.get());
                         rpc::RunCoHandler(context, std::move(handler), std::move(streams), std::move(done));
                       });
    service_.AddStream(
        "Chat", MethodKind::kBidiStreaming,
        [](ServerContext* context, const Text&, Text*, std::shared_ptr<rpc::MessageStream> stream, Responder done) {
          auto streams = std::make_unique<CoServerReaderWriter<Text, Text>>(std::move(stream));
          auto handler = Chat(context, streams.get());
          rpc::RunCoHandler(context, std::move(handler), std::move(streams), std::move(done));
        });
  }

  RunningTask Run(Task<absl::Status> task) {
    RunningTask running;
    loop_.Post(
        [&] { running = StartTask(std::move(task), [this](absl::Status status) { end_ = std::move(status); }); });
    loop_.RunUntilIdle();
    return running;
  }
  void ExpectEnd(absl::StatusCode code) {
    ASSERT_TRUE(end_.has_value());
    EXPECT_EQ(end_->code(), code) << *end_;
  }

  ClientContext context_;
  std::optional<absl::Status> end_;
};

TEST_F(CoStreamTest, ClientStreamsToAReply) {
  Start();
  Text reply;
  const auto upload = [&]() -> Task<absl::Status> {
    CoClientWriter<Text> writer(channel_.get(), kUpload, &context_, &reply);
    for (const char* word : {"one ", "two ", "three"}) {
      absl::Status written = co_await writer.Write(TextOf(word));
      if (!written.ok()) co_return written;
    }
    co_return co_await writer.Finish();
  };
  const RunningTask task = Run(upload());
  ExpectEnd(absl::StatusCode::kOk);
  EXPECT_EQ(reply.value(), "one two three");
}

// Memory of former messages serves again, which nobody is to notice.
TEST_F(CoStreamTest, AMessageThatWasMovedIntoAWriteIsEmptyAndOneThatWasCopiedIsAsBefore) {
  Start();
  Text reply;
  const auto upload = [&]() -> Task<absl::Status> {
    CoClientWriter<Text> writer(channel_.get(), kUpload, &context_, &reply);
    Text message = TextOf("one ");
    EXPECT_TRUE((co_await writer.Write(message)).ok());
    EXPECT_EQ(message.value(), "one ");
    EXPECT_TRUE((co_await writer.Write(std::move(message))).ok());
    EXPECT_EQ(message.value(), "");
    message = TextOf(std::string(100'000, '.'));  // Its memory is not kept.
    EXPECT_TRUE((co_await writer.Write(message)).ok());
    message.set_value(" two");
    EXPECT_TRUE((co_await writer.Write(message)).ok());
    co_return co_await writer.Finish();
  };
  const RunningTask task = Run(upload());
  ExpectEnd(absl::StatusCode::kOk);
  EXPECT_EQ(reply.value(), "one one " + std::string(100'000, '.') + " two");
}

TEST_F(CoStreamTest, ServerStreamsPastTheWindowToAStatus) {
  Start();
  int read = 0;
  const auto list = [&]() -> Task<absl::Status> {
    CoClientReader<Text> reader(channel_.get(), kList, &context_, TextOf("200"));
    Text message;
    while (co_await reader.Read(&message)) {
      EXPECT_EQ(message.value(), std::to_string(read) + std::string(10000, '.'));
      ++read;
    }
    co_return co_await reader.Finish();
  };
  const RunningTask task = Run(list());
  ExpectEnd(absl::StatusCode::kDataLoss);
  EXPECT_EQ(read, 200);
}

TEST_F(CoStreamTest, BothStreamAtTheSameTime) {
  Start();
  std::vector<std::string> heard;
  const auto chat = [&]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kChat, &context_);
    Text answer;
    for (const char* word : {"a", "b", "c"}) {
      EXPECT_TRUE((co_await stream.Write(TextOf(word))).ok());
      EXPECT_TRUE(co_await stream.Read(&answer));
      heard.push_back(answer.value());
    }
    stream.WritesDone();
    EXPECT_FALSE(co_await stream.Read(&answer));
    co_return co_await stream.Finish();
  };
  const RunningTask task = Run(chat());
  ExpectEnd(absl::StatusCode::kOk);
  EXPECT_EQ(heard, (std::vector<std::string>{"re: a", "re: b", "re: c"}));
}

// Of a call whose other end is driven by hand.
TEST_F(CoStreamTest, MessageOfAReadThatWasGivenUpIsTheNextOnes) {
  Start();
  std::string got;
  const auto patient = [&]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    Text message;
    const auto read = [&]() -> Task<bool> { co_return co_await stream.Read(&message); };
    auto first = co_await WhenAny(read(), SleepAWhile(loop_));
    EXPECT_EQ(first.index(), 1u);
    co_await SleepFor(loop_, absl::Seconds(1));
    EXPECT_TRUE(co_await stream.Read(&message));
    got = message.value();
    co_return absl::OkStatus();
  };
  const RunningTask task = Run(patient());
  loop_.Advance(absl::Seconds(1000));
  served().Write("worth the wait");
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(got, "worth the wait");
  ExpectEnd(absl::StatusCode::kOk);
}

TEST_F(CoStreamTest, WriteThatWasGivenUpIsMadeAndExcludesAnotherUntilThen) {
  Start();
  absl::Status second;
  const auto hasty = [&]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    EXPECT_TRUE((co_await stream.Write(TextOf(std::string(300000, 'x')))).ok());  // The next finds no window.
    const auto write = [&]() -> Task<absl::Status> { co_return co_await stream.Write(TextOf("given up")); };
    auto first = co_await WhenAny(write(), SleepAWhile(loop_));
    EXPECT_EQ(first.index(), 1u);
    second = co_await stream.Write(TextOf("too early"));
    co_await SleepFor(loop_, absl::Seconds(1000));
    co_return absl::OkStatus();
  };
  const RunningTask task = Run(hasty());
  loop_.Advance(absl::Seconds(100));
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  served().ReadAll();
  loop_.Advance(absl::Seconds(2000));
  ExpectEnd(absl::StatusCode::kOk);
  ASSERT_EQ(served().received.size(), 2u);
  EXPECT_EQ(served().received.at(1), "given up");
}

TEST_F(CoStreamTest, SecondWriteBesideAnAwaitedOneIsRefusedAndTheFirstGoesOn) {
  Start();
  std::optional<absl::Status> first, second;
  Text kept = TextOf("kept");
  const auto two_writers = [&]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    EXPECT_TRUE((co_await stream.Write(TextOf(std::string(300000, 'x')))).ok());  // The next finds no window.
    const auto write = [&]() -> Task<> { first = co_await stream.Write(TextOf("awaited")); };
    const auto write_beside = [&]() -> Task<> { second = co_await stream.Write(std::move(kept)); };
    co_await WhenAll(write(), write_beside());
    co_return absl::OkStatus();
  };
  const RunningTask task = Run(two_writers());
  EXPECT_EQ(first, std::nullopt);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(kept.value(), "kept");
  served().ReadAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(first, absl::OkStatus());
  ExpectEnd(absl::StatusCode::kOk);
  ASSERT_EQ(served().received.size(), 2u);
  EXPECT_EQ(served().received.at(1), "awaited");
}

TEST_F(CoStreamTest, SecondReadBesideAnAwaitedOneGetsNothingAndTheFirstGoesOn) {
  Start();
  std::string first;
  std::optional<bool> second;
  const auto two_readers = [&]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    const auto read = [&]() -> Task<> {
      Text message;
      if (co_await stream.Read(&message)) first = message.value();
    };
    const auto read_beside = [&]() -> Task<> {
      Text message;
      second = co_await stream.Read(&message);
    };
    co_await WhenAll(read(), read_beside());
    co_return absl::OkStatus();
  };
  const RunningTask task = Run(two_readers());
  EXPECT_EQ(second, false);
  served().Write("to the first");
  loop_.RunUntilIdle();
  EXPECT_EQ(first, "to the first");
  ExpectEnd(absl::StatusCode::kOk);
}

// Whoever waited is not resumed any more, and may go when it likes.
TEST_F(CoStreamTest, StreamMayGoWhileAnotherCoroutineAwaitsIt) {
  Start();
  const auto call = [this](CoClientReaderWriter<Text, Text>* stream) -> Task<absl::Status> {
    Text message;
    co_await stream->Read(&message);
    co_return absl::OkStatus();
  };
  std::optional<CoClientReaderWriter<Text, Text>> stream;
  loop_.Post([&] { stream.emplace(channel_.get(), kByHand, &context_); });
  loop_.RunUntilIdle();
  RunningTask task = Run(call(&*stream));
  loop_.Post([&] { stream.reset(); });
  loop_.RunUntilIdle();
  EXPECT_TRUE(served().context->IsCancelled());
  EXPECT_EQ(end_, std::nullopt);
  task = {};  // Sanitizers would find a touch.
}

TEST_F(CoStreamTest, DestroyedStreamCancelsItsCallAndLetsGoOfItsMemory) {
  Start();
  auto context = std::make_unique<ClientContext>();
  const auto call = [this](ClientContext* of) -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, of);
    Text message;
    co_await stream.Read(&message);
    co_return co_await stream.Finish();
  };
  RunningTask task = Run(call(context.get()));
  ASSERT_EQ(served_.size(), 1u);
  task = {};
  context.reset();  // Sanitizers would find a touch.
  loop_.RunUntilIdle();
  EXPECT_TRUE(served().context->IsCancelled());
  EXPECT_EQ(end_, std::nullopt);
  EXPECT_THAT(channel_->DescribeState(), ::testing::HasSubstr("0 calls in flight"));
}

TEST_F(CoStreamTest, ReadOfACancelledCallEndsAndItsStatusSaysWhy) {
  Start();
  const auto call = [this]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    Text message;
    EXPECT_FALSE(co_await stream.Read(&message));
    co_return co_await stream.Finish();
  };
  const RunningTask task = Run(call());
  context_.TryCancel();
  loop_.RunUntilIdle();
  ExpectEnd(absl::StatusCode::kCancelled);
}

// Not in UTF-8, and so no message: that must not pass for the stream's end.
TEST_F(CoStreamTest, UserWhoReadsWhenTheCallHasEndedLearnsThatAMessageWasNone) {
  Start();
  const auto call = [this]() -> Task<absl::Status> {
    CoClientReaderWriter<Text, Text> stream(channel_.get(), kByHand, &context_);
    co_await SleepFor(loop_, absl::Seconds(1));
    Text message;
    EXPECT_FALSE(co_await stream.Read(&message));
    co_return co_await stream.Finish();
  };
  const RunningTask task = Run(call());
  served().Write("\xff");
  served().done(absl::OkStatus());
  loop_.Advance(absl::Seconds(2));
  ExpectEnd(absl::StatusCode::kInternal);
}

TEST_F(CoStreamTest, HandlersReadEndsWithTheCall) {
  Start();
  Text reply;
  const auto upload = [&]() -> Task<absl::Status> {
    CoClientWriter<Text> writer(channel_.get(), kUpload, &context_, &reply);
    co_return co_await writer.Write(TextOf("and then nothing"));  // The writer goes, and its call with it.
  };
  const RunningTask task = Run(upload());
  ExpectEnd(absl::StatusCode::kOk);
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
}

}  // namespace
}  // namespace verbena
