// Calls that stream, whole: client and server in one process, virtual time, a network in memory.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using rpc::MessageStream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Text;

// A streaming call with all that its caller must keep.
struct StreamCall {
  ClientContext context;
  Text request;
  Text reply;
  Text incoming;
  std::shared_ptr<MessageStream> stream;
  std::vector<absl::Status> completions;
  std::vector<absl::Status> reads;
  std::vector<absl::Status> writes;
  std::vector<std::string> received;

  void Read() {
    stream->Read(&incoming, [this](absl::Status status) {
      if (status.ok()) received.push_back(incoming.value());
      reads.push_back(std::move(status));
    });
  }
  void ReadAll() {
    stream->Read(&incoming, [this](absl::Status status) {
      const bool ok = status.ok();
      if (ok) received.push_back(incoming.value());
      reads.push_back(std::move(status));
      if (ok) ReadAll();
    });
  }
  // `text` is the user's again when the write is complete.
  void Write(std::string text) {
    auto message = std::make_shared<Text>();
    message->set_value(std::move(text));
    stream->Write(message.get(), [this, message](absl::Status status) { writes.push_back(std::move(status)); });
  }
};

// The server's end of a stream that a test drives by hand.
struct Served {
  ServerContext* context;
  std::string request;
  Text* reply;
  std::shared_ptr<MessageStream> stream;
  Responder done;
  Text incoming;
  std::vector<absl::Status> reads;
  std::vector<absl::Status> writes;
  std::vector<std::string> received;

  void ReadAll() {
    stream->Read(&incoming, [this](absl::Status status) {
      const bool ok = status.ok();
      if (ok) received.push_back(incoming.value());
      reads.push_back(std::move(status));
      if (ok) ReadAll();
    });
  }
  void Write(std::string text) {
    auto message = std::make_shared<Text>();
    message->set_value(std::move(text));
    stream->Write(message.get(), [this, message](absl::Status status) { writes.push_back(std::move(status)); });
  }
  // Writes as fast as the client lets it, at most `count` messages.
  void WriteMany(int count, size_t bytes) {
    if (count == 0) return;
    auto message = std::make_shared<Text>();
    message->set_value(absl::StrCat(writes.size(), std::string(bytes, '.')));
    stream->Write(message.get(), [this, message, count, bytes](absl::Status status) {
      const bool ok = status.ok();
      writes.push_back(std::move(status));
      if (ok) WriteMany(count - 1, bytes);
    });
  }
};

class StreamCallTest : public testing::CallFixture {
 protected:
  StreamCallTest() {
    for (const MethodKind kind :
         {MethodKind::kClientStreaming, MethodKind::kServerStreaming, MethodKind::kBidiStreaming}) {
      service_.AddStream(std::string(ToString(kind)), kind,
                         [this](ServerContext* context, const Text& request, Text* reply,
                                std::shared_ptr<MessageStream> stream, Responder done) {
                           served_.push_back(std::make_unique<Served>(Served{
                               context, request.value(), reply, std::move(stream), std::move(done), {}, {}, {}, {}}));
                         });
    }
  }

  std::unique_ptr<StreamCall> Begin(MethodKind kind, absl::Duration timeout = absl::InfiniteDuration()) {
    auto call = std::make_unique<StreamCall>();
    call->request.set_value("the request");
    call->context.set_timeout(timeout);
    rpc::NewCall made;
    method_ = absl::StrCat("test.Lambda/", ToString(kind));
    made.method = method_;
    made.kind = kind;
    made.context = &call->context;
    made.request = ClientStreams(kind) ? nullptr : &call->request;
    made.reply = ServerStreams(kind) ? nullptr : &call->reply;
    made.done = [call = call.get()](absl::Status status) { call->completions.push_back(std::move(status)); };
    call->stream = channel_->core().StartStreaming(std::move(made));
    loop_.RunUntilIdle();
    return call;
  }
  Served& served() { return *served_.back(); }
  static std::vector<std::string> Numbers(int count, size_t bytes) {
    std::vector<std::string> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(absl::StrCat(i, std::string(bytes, '.')));
    return numbers;
  }

  std::string method_;
  std::vector<std::unique_ptr<Served>> served_;
};

TEST_F(StreamCallTest, BidirectionalOneCarriesMessagesBothWays) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->ReadAll();
  served().ReadAll();
  call->Write("a");
  served().Write("x");
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("a"));
  EXPECT_THAT(call->received, ElementsAre("x"));

  call->stream->EndWrites();
  loop_.RunUntilIdle();
  EXPECT_TRUE(absl::IsOutOfRange(served().reads.back()));
  EXPECT_THAT(call->completions, IsEmpty());
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_TRUE(absl::IsOutOfRange(call->reads.back()));
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(StreamCallTest, ClientStreamingOneGetsOneReply) {
  Start();
  auto call = Begin(MethodKind::kClientStreaming);
  served().ReadAll();
  call->Write("a");
  loop_.RunUntilIdle();
  call->Write("b");
  call->stream->EndWrites();
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("a", "b"));
  served().reply->set_value("both");
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(call->reply.value(), "both");
}

TEST_F(StreamCallTest, ServerStreamingOneHasARequestAndEndsWithItsStatus) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  EXPECT_EQ(served().request, "the request");
  served().WriteMany(3, 1);
  loop_.RunUntilIdle();
  served().done(absl::NotFoundError("no more"));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].message(), "no more");
  EXPECT_EQ(GetCertainty(call->completions[0]), Certainty::kExecuted);
  // What the server had sent before it failed is there to be read.
  call->ReadAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->received, Numbers(3, 1));
  EXPECT_TRUE(absl::IsOutOfRange(call->reads.back()));
}

TEST_F(StreamCallTest, MessagesOfAllSizesArriveInOrder) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  call->ReadAll();
  std::vector<std::string> expected;
  network_.latest_client()->HoldFetches();
  for (int i = 0; i < 20; ++i) {
    expected.push_back(absl::StrCat(i, std::string(i % 3 == 0 ? 10'000 : 5, '.')));
    served().Write(expected.back());
    loop_.RunUntilIdle();
  }
  EXPECT_THAT(call->received, IsEmpty());  // The first is large.
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->received, expected);
}

TEST_F(StreamCallTest, OkWaitsForLargeMessagesThatItOvertook) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  call->ReadAll();
  network_.latest_client()->HoldFetches();
  served().Write(std::string(10'000, '.'));
  loop_.RunUntilIdle();
  ASSERT_EQ(served().writes.size(), 1u);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, IsEmpty());
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->received.size(), 1u);
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(StreamCallTest, AnErrorDoesNotWaitForThem) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  network_.latest_client()->HoldFetches();
  served().Write(std::string(10'000, '.'));
  loop_.RunUntilIdle();
  served().done(absl::AbortedError("never mind"));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(call->completions[0]));
  network_.latest_client()->ReleaseFetches();
  call->ReadAll();
  loop_.RunUntilIdle();
  EXPECT_THAT(call->received, IsEmpty());
}

TEST_F(StreamCallTest, SlowReaderStopsItsWriterAndNobodyElse) {
  Start();
  constexpr size_t kBytes = 1000;
  auto slow = Begin(MethodKind::kServerStreaming);
  Served& writer = served();
  writer.WriteMany(2000, kBytes);
  loop_.RunUntilIdle();
  const size_t written = writer.writes.size();
  EXPECT_LE(written, options_.stream_window_bytes / kBytes + 1);
  EXPECT_GE(written, 50u);

  auto fast = Begin(MethodKind::kServerStreaming);
  fast->ReadAll();
  served().WriteMany(2000, kBytes);
  loop_.RunUntilIdle();
  EXPECT_EQ(fast->received.size(), 2000u);
  EXPECT_TRUE(Call("test.Lambda/Echo")->status().ok());
  EXPECT_EQ(writer.writes.size(), written);

  slow->ReadAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(slow->received, Numbers(2000, kBytes));
}

TEST_F(StreamCallTest, WriteAfterTheEndIsRefusedAndDisturbsNothing) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  served().ReadAll();
  call->Write("a");
  call->stream->EndWrites();
  call->Write("b");
  loop_.RunUntilIdle();
  ASSERT_EQ(call->writes.size(), 2u);
  EXPECT_TRUE(call->writes[0].ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(call->writes[1])) << call->writes[1];
  EXPECT_THAT(served().received, ElementsAre("a"));
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(StreamCallTest, SecondReadOrWriteBesideOneIsRefused) {
  Start();
  stream_options_.window_bytes = rpc::kStreamWindowInitial;
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Read();
  call->Read();
  call->Write(std::string(2 * options_.stream_window_bytes, '.'));
  loop_.RunUntilIdle();
  call->Write("waits for the window");
  call->Write("is one too many");
  loop_.RunUntilIdle();
  ASSERT_EQ(call->reads.size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(call->reads[0]));
  ASSERT_EQ(call->writes.size(), 2u);
  EXPECT_TRUE(absl::IsFailedPrecondition(call->writes[1]));
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->reads.size(), 2u);
  EXPECT_EQ(call->writes.size(), 3u);
}

TEST_F(StreamCallTest, MessagePastTheLimitIsRefusedAndTheStreamGoesOn) {
  options_.transport.message_bytes_max = 1000;
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  served().ReadAll();
  call->Write(std::string(2000, '.'));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->writes.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->writes[0]));
  EXPECT_THAT(std::string(call->writes[0].message()), HasSubstr("message_bytes_max = 1000"));
  call->Write("small");
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("small"));
}

TEST_F(StreamCallTest, MessageThatTheReceiverDoesNotTakeEndsTheCall) {
  options_.transport.message_bytes_max = 1000;
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  served().Write(std::string(2000, '.'));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
  EXPECT_TRUE(served().context->IsCancelled());
}

TEST_F(StreamCallTest, EarlyStatusEndsTheClientsWrites) {
  Start();
  auto call = Begin(MethodKind::kClientStreaming);
  call->Write(std::string(2 * options_.stream_window_bytes, '.'));
  loop_.RunUntilIdle();
  call->Write("waits for the window");
  loop_.RunUntilIdle();
  served().done(absl::FailedPreconditionError("enough"));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].message(), "enough");
  ASSERT_EQ(call->writes.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(call->writes[1]));
  call->Write("too late");
  loop_.RunUntilIdle();
  EXPECT_TRUE(absl::IsCancelled(call->writes[2]));
}

TEST_F(StreamCallTest, CancelEndsBothEnds) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Read();
  served().ReadAll();
  loop_.RunUntilIdle();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(call->completions[0]));
  EXPECT_EQ(call->reads.size(), 1u);
  EXPECT_TRUE(served().context->IsCancelled());
  EXPECT_EQ(served().reads.size(), 1u);
  served().Write("to nobody");
  loop_.RunUntilIdle();
  EXPECT_TRUE(absl::IsCancelled(served().writes.at(0)));
}

TEST_F(StreamCallTest, DeadlineEndsBothEnds) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming, absl::Seconds(1));
  call->Read();
  served().ReadAll();
  loop_.RunUntilIdle();
  loop_.Advance(absl::Seconds(2));
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(call->completions[0]));
  EXPECT_EQ(call->reads.size(), 1u);
  EXPECT_TRUE(served().context->IsCancelled());
  EXPECT_EQ(served().reads.size(), 1u);
}

TEST_F(StreamCallTest, LostConnectionEndsBothEndsOnce) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Read();
  served().ReadAll();
  served().WriteMany(2000, 1000);
  loop_.RunUntilIdle();
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(call->completions[0]));
  EXPECT_TRUE(served().context->IsCancelled());
  EXPECT_EQ(served().reads.size(), 1u);
  EXPECT_FALSE(served().writes.back().ok());
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(call->completions.size(), 1u);
}

TEST_F(StreamCallTest, ChannelsEndCancelsIt) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Read();
  loop_.RunUntilIdle();
  channel_.reset();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(call->completions[0]));
  EXPECT_EQ(call->reads.size(), 1u);
  // The loop is gone for it: operations complete all the same.
  call->Read();
  call->Write("to nobody");
  EXPECT_EQ(call->reads.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(call->writes.at(0)));
}

TEST_F(StreamCallTest, CallThatIsNeverMadeCompletesWhatWasAskedOfItsStream) {
  options_.connect_timeout = absl::Seconds(1);
  OpenChannel();  // No server.
  auto call = Begin(MethodKind::kBidiStreaming);
  call->Read();
  call->Write("a");
  loop_.RunUntilIdle();
  EXPECT_THAT(call->reads, IsEmpty());
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(call->reads.size(), 1u);
  EXPECT_EQ(call->writes.size(), 1u);
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(GetCertainty(call->completions[0]), Certainty::kNotSent);
}

TEST_F(StreamCallTest, CallAsAnotherKindIsUnimplementedInWords) {
  Start();
  const auto unary = Call("test.Lambda/bidirectional-streaming");
  ExpectFailed(*unary, absl::StatusCode::kUnimplemented, Certainty::kNotSent,
               "is bidirectional-streaming at the server; the client calls it as unary");
  EXPECT_THAT(served_, IsEmpty());
}

TEST_F(StreamCallTest, StreamsOutliveTheServersDrain) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  call->ReadAll();
  served().ReadAll();
  bool drained = false;
  server_->Drain([&drained] { drained = true; });
  loop_.RunUntilIdle();
  call->Write("still here");
  served().Write("so am I");
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("still here"));
  EXPECT_THAT(call->received, ElementsAre("so am I"));
  EXPECT_FALSE(drained);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_TRUE(drained);
}

}  // namespace
}  // namespace verbena
