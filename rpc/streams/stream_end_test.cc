// How calls that stream end, and what they refuse.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using StreamEndTest = testing::StreamFixture;

TEST_F(StreamEndTest, WriteAfterTheEndIsRefusedAndDisturbsNothing) {
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

// A handler on a thread of its own looks at once, and takes a read that failed for the client's end unless it is told.
TEST_F(StreamEndTest, HandlerKnowsThatNobodyWaitsBeforeItsStreamFails) {
  Start();
  Begin(MethodKind::kClientStreaming);
  Begin(MethodKind::kClientStreaming);
  ASSERT_EQ(served_.size(), 2u);
  int told = 0;
  for (int i : {0, 1}) {
    served_[i]->context->SetCancelCallback([this, &told] {
      if (++told > 1) return;
      for (const auto& served : served_) {
        EXPECT_TRUE(served->stream->dropped());
        EXPECT_TRUE(served->context->IsCancelled());
      }
    });
  }
  network_.latest_server()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(told, 2);
  for (const auto& served : served_) served->done(absl::OkStatus());
}

TEST_F(StreamEndTest, SecondReadOrWriteBesideOneIsRefused) {
  Start();
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

TEST_F(StreamEndTest, SecondWriteBesideOneThatWaitsForCreditIsRefused) {
  Start();
  auto call = Begin(MethodKind::kBidiStreaming);
  network_.latest_client()->Stall();
  call->Write("a");
  call->Write("b");
  loop_.RunUntilIdle();
  ASSERT_EQ(call->writes.size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(call->writes[0]));
  network_.latest_client()->Unstall();
  call->stream->EndWrites();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->writes.size(), 2u);
  EXPECT_TRUE(call->writes[1].ok());
}

TEST_F(StreamEndTest, MessagePastTheLimitIsRefusedAndTheStreamGoesOn) {
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

TEST_F(StreamEndTest, MessageThatTheReceiverDoesNotTakeEndsTheCall) {
  options_.transport.message_bytes_max = 1000;
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  served().Write(std::string(2000, '.'));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
  EXPECT_TRUE(served().context->IsCancelled());
}

TEST_F(StreamEndTest, EarlyStatusEndsTheClientsWrites) {
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

TEST_F(StreamEndTest, CancelEndsBothEnds) {
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

TEST_F(StreamEndTest, DeadlineEndsBothEnds) {
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

TEST_F(StreamEndTest, LostConnectionEndsBothEndsOnce) {
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

// As in a proxy: what ends one stream is passed on to another, of the same connection, that does not know its end yet.
TEST_F(StreamEndTest, LostConnectionsCompletionsMayUseItsOtherStreams) {
  Start();
  std::vector<testing::StreamCall*> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(Begin(MethodKind::kBidiStreaming));
  for (size_t i = 0; i < calls.size(); ++i) {
    testing::StreamCall* const call = calls[i];
    call->stream->Read(&call->incoming, nullptr, [&calls](absl::Status) {
      for (testing::StreamCall* other : calls) {
        other->Write("passed on");
        other->stream->EndWrites();
      }
    });
    served_[i]->context->SetCancelCallback([this] {
      for (const auto& other : served_) other->Write("passed on");
    });
  }
  loop_.RunUntilIdle();
  network_.latest_client()->Sever();
  loop_.RunUntilIdle();
  for (const testing::StreamCall* call : calls) {
    EXPECT_EQ(call->completions.size(), 1u);
    EXPECT_EQ(call->writes.size(), calls.size());
  }
}

TEST_F(StreamEndTest, WriteThatWaitsForTheWindowFailsWithTheHandlersEnd) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  served().WriteMany(2000, 1000);
  loop_.RunUntilIdle();
  const size_t written = served().writes.size();
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  ASSERT_EQ(served().writes.size(), written + 1);
  EXPECT_TRUE(absl::IsCancelled(served().writes.back()));
  call->ReadAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->received.size(), written);
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(StreamEndTest, ChannelsEndCancelsIt) {
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

TEST_F(StreamEndTest, CallThatIsNeverMadeCompletesWhatWasAskedOfItsStream) {
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

TEST_F(StreamEndTest, CallAsAnotherKindIsUnimplementedInWords) {
  Start();
  const auto unary = Call("test.Lambda/bidirectional-streaming");
  ExpectFailed(*unary, absl::StatusCode::kUnimplemented, Certainty::kNotSent,
               "is bidirectional-streaming at the server; the client calls it as unary");
  EXPECT_THAT(served_, IsEmpty());
}

TEST_F(StreamEndTest, StreamThatCrossesTheServersDrainLosesNothing) {
  Start();
  server_->Drain([] {});
  auto call = Begin(MethodKind::kBidiStreaming);  // Before the client hears of the drain.
  call->Write("written");
  call->stream->EndWrites();
  served().ReadAll();
  loop_.RunUntilIdle();
  EXPECT_THAT(served().received, ElementsAre("written"));
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(StreamEndTest, StreamsOutliveTheServersDrain) {
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
