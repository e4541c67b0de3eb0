// Attachments beside the messages of streams.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rpc/co_client_stream.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/reactors.h"
#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using testing::DrivenEnd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Text;

constexpr rpc::StreamingMethod kBidi = {"test.Lambda/bidirectional-streaming", MethodKind::kBidiStreaming};

class StreamAttachmentTest : public testing::StreamFixture {
 protected:
  // Message and attachment, each kept until the write is complete.
  void Write(DrivenEnd& end, const std::string& text, const std::string& attachment) {
    auto message = std::make_shared<Text>();
    message->set_value(text);
    end.stream->Write(message.get(), absl::Cord(attachment),
                      [&end, message](absl::Status status) { end.writes.push_back(std::move(status)); });
    loop_.RunUntilIdle();
  }
  // "text|attachment"; "no more".
  std::string Read(DrivenEnd& end) {
    std::string read = "nothing yet";
    absl::Cord attachment("what was there before");
    end.stream->Read(&end.incoming, &attachment, [&](absl::Status status) {
      read = status.ok() ? end.incoming.value() + "|" + std::string(attachment) : "no more";
    });
    loop_.RunUntilIdle();
    return read;
  }
};

TEST_F(StreamAttachmentTest, TravelsBesideItsMessageEitherWay) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  const std::string large(500'000, 'x');
  Write(*call, "first", "beside");
  EXPECT_EQ(Read(served()), "first|beside");
  Write(*call, "second", "");
  EXPECT_EQ(Read(served()), "second|");
  Write(*call, "", large);  // An empty message.
  EXPECT_EQ(Read(served()), "|" + large);
  Write(served(), large, large);
  EXPECT_EQ(Read(*call), large + "|" + large);
  EXPECT_THAT(call->writes, ElementsAre(absl::OkStatus(), absl::OkStatus(), absl::OkStatus()));
}

TEST_F(StreamAttachmentTest, IsDroppedByWhoDoesNotAskForIt) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  Write(*call, "first", "beside");
  Write(*call, "second", "beside");
  served().Read();
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("first"));
  EXPECT_EQ(Read(served()), "second|beside");
}

TEST_F(StreamAttachmentTest, TakesItsRoomInTheWindow) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  Write(*call, "goes", std::string(2 * stream_options_.window_bytes, 'x'));
  Write(*call, "waits", "");
  EXPECT_EQ(call->writes.size(), 1u);
  Read(served());
  EXPECT_EQ(call->writes.size(), 2u);
}

TEST_F(StreamAttachmentTest, CountsAgainstTheMessageLimitAndTheStreamGoesOn) {
  options_.transport.message_bytes_max = 1000;
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  Write(*call, "too much", std::string(1000, 'x'));
  ASSERT_EQ(call->writes.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->writes[0]));
  Write(*call, "goes on", "beside");
  EXPECT_EQ(Read(served()), "goes on|beside");
}

TEST_F(StreamAttachmentTest, OfACallWhoseRequestsStreamIsRefusedUnsent) {
  Start();
  auto call = BeginOnly(MethodKind::kClientStreaming, absl::InfiniteDuration());
  call->context.set_attachment(absl::Cord("beside nothing"));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(call->completions[0])) << call->completions[0];
  EXPECT_EQ(GetCertainty(call->completions[0]), Certainty::kNotSent);
  EXPECT_THAT(served_, IsEmpty());
}

TEST_F(StreamAttachmentTest, OfAnAnswerWhoseRepliesStreamIsAnErrorAndNotLost) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  served().context->set_attachment(absl::Cord("beside nothing"));
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsInternal(call->completions[0])) << call->completions[0];
  EXPECT_THAT(std::string(call->completions[0].message()), HasSubstr("beside its messages"));
}

class AttachingReactor : public ClientBidiReactor<Text, Text> {
 public:
  void OnDone(const absl::Status& status) override { end = status; }

  Text message;
  absl::Cord attachment;
  absl::Status end = absl::UnknownError("not done");
};

TEST_F(StreamAttachmentTest, ReactorsHaveThemAlsoWhenTheyBeginBeforeTheCall) {
  Start();
  ClientContext context;
  AttachingReactor reactor;
  reactor.Bind(channel_.get(), kBidi, &context, nullptr, nullptr);
  Text first;
  first.set_value("first");
  reactor.StartWrite(&first, absl::Cord("beside"));
  reactor.StartRead(&reactor.message, &reactor.attachment);
  reactor.StartCall();
  loop_.RunUntilIdle();
  EXPECT_EQ(Read(served()), "first|beside");
  Write(served(), "answer", "beside the answer");
  EXPECT_EQ(reactor.message.value(), "answer");
  EXPECT_EQ(reactor.attachment, "beside the answer");
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(reactor.end, absl::OkStatus());
}

Task<absl::Status> SayAndHear(Channel* channel, ClientContext* context, std::string* heard) {
  CoClientReaderWriter<Text, Text> stream(channel, kBidi, context);
  Text message;
  message.set_value("said");
  absl::Status written = co_await stream.Write(message, absl::Cord("beside"));
  if (!written.ok()) co_return written;
  absl::Cord attachment;
  const bool read = co_await stream.Read(&message, &attachment);
  if (read) *heard = message.value() + "|" + std::string(attachment);
  co_return co_await stream.Finish();
}

TEST_F(StreamAttachmentTest, CoroutinesHaveThem) {
  Start();
  ClientContext context;
  std::string heard;
  RunningTask running;
  absl::Status end = absl::UnknownError("not done");
  loop_.Post([&] {
    running = StartTask(SayAndHear(channel_.get(), &context, &heard),
                        [&end](absl::Status status) { end = std::move(status); });
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(Read(served()), "said|beside");
  Write(served(), "heard", "beside that");
  EXPECT_EQ(heard, "heard|beside that");
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(end, absl::OkStatus());
}

}  // namespace
}  // namespace verbena
