// Messages of a stream that find no payload memory to be sent from, and the ends that wait for them.

#include <gtest/gtest.h>

#include <string>

#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LostMessageTest : public testing::StreamFixture {
 protected:
  // A call whose handler has ended with its one message waiting for memory.
  testing::StreamCall* BeginAnEndThatWaits(const absl::Status& status = absl::OkStatus(),
                                           absl::Duration timeout = absl::InfiniteDuration());
};

const std::string kLarge(20'000, '.');  // Announced, not eager.

testing::StreamCall* LostMessageTest::BeginAnEndThatWaits(const absl::Status& status, absl::Duration timeout) {
  Start();
  testing::StreamCall* const call = Begin(MethodKind::kServerStreaming, timeout);
  network_.latest_server()->HoldExports();
  served().Write(kLarge);
  served().done(status);
  loop_.RunUntilIdle();
  return call;
}

TEST_F(LostMessageTest, HandlersEndWaitsForTheMemoryOfItsLastWrite) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  call->ReadAll();
  network_.latest_server()->HoldExports();
  served().Write("small");
  loop_.RunUntilIdle();
  served().Write(kLarge);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->received, ElementsAre("small"));
  EXPECT_THAT(call->completions, IsEmpty());
  EXPECT_EQ(server_->tally().calls(), 1u);  // It has not been answered.
  network_.latest_server()->ReleaseExports();
  loop_.RunUntilIdle();
  EXPECT_THAT(call->received, ElementsAre("small", kLarge));
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
}

TEST_F(LostMessageTest, LastWriteThatFindsNoMemoryEndsTheCallBehindWhatWasWrittenBefore) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  network_.latest_client()->HoldFetches();
  served().Write(kLarge);
  loop_.RunUntilIdle();
  network_.latest_server()->HoldExports();
  served().Write(kLarge);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  network_.latest_server()->FailExports();
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, IsEmpty());
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
  EXPECT_EQ(GetCertainty(call->completions[0]), Certainty::kExecuted);
  EXPECT_THAT(std::string(call->completions[0].message()), HasSubstr("no payload memory"));
  call->ReadAll();
  loop_.RunUntilIdle();
  EXPECT_THAT(call->received, ElementsAre(kLarge));
  ASSERT_EQ(served().writes.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(served().writes[1]));
}

// The server goes when the message is written and nobody has been told yet.
TEST_F(LostMessageTest, LastWriteCompletesThoughTheServerGoes) {
  BeginAnEndThatWaits();
  network_.latest_server()->ReleaseExports();
  StopServer();
  loop_.RunUntilIdle();
  EXPECT_THAT(served().writes, ElementsAre(absl::OkStatus()));
}

TEST_F(LostMessageTest, InitialMetadataComesWithTheEndOfTheFirstMessageThatFoundNoMemory) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  network_.latest_server()->HoldExports();
  ASSERT_TRUE(served().context->AddInitialMetadata("key", "value").ok());
  served().Write(kLarge);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  network_.latest_server()->FailExports();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0]));
  EXPECT_EQ(call->context.initial_metadata().Find("key"), "value");
}

TEST_F(LostMessageTest, HandlersErrorStandsWhenItsLastWriteFindsNoMemory) {
  testing::StreamCall* const call = BeginAnEndThatWaits(absl::AbortedError("the handler's"));
  network_.latest_server()->FailExports();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->completions[0].message(), "the handler's");
}

// Not in UTF-8, and so no message: that must not pass for the stream's end, although the response is here.
TEST_F(LostMessageTest, LastMessageThatIsNoneEndsTheCallThatHasBeenAnswered) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  call->ReadAll();
  network_.latest_client()->HoldFetches();
  served().Write('\xff' + kLarge);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, IsEmpty());
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsInternal(call->completions[0])) << call->completions[0];
  EXPECT_THAT(std::string(call->completions[0].message()), HasSubstr("not the method's message"));
  EXPECT_THAT(call->received, IsEmpty());
}

// The usual handler: it waits for its write, and what it does then comes before anything else can.
TEST_F(LostMessageTest, HandlerThatEndsForItsLostWriteEndsTheCall) {
  for (const bool writes_again : {false, true}) {
    SCOPED_TRACE(writes_again);
    Start();
    auto call = Begin(MethodKind::kServerStreaming);
    network_.latest_server()->HoldExports();
    testing::Text message;
    message.set_value(kLarge);
    served().stream->Write(&message, {}, [&](absl::Status status) {
      EXPECT_TRUE(absl::IsCancelled(status));
      if (writes_again) served().Write("small");
      served().done(absl::OkStatus());
    });
    loop_.RunUntilIdle();
    network_.latest_server()->FailExports();
    loop_.RunUntilIdle();
    ASSERT_EQ(call->completions.size(), 1u);
    EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
    call->Read();
    loop_.RunUntilIdle();
    EXPECT_THAT(call->received, IsEmpty());
    channel_.reset();
    StopServer();
  }
}

TEST_F(LostMessageTest, DeadlineEndsAnEndThatWaitsForMemory) {
  testing::StreamCall* const call = BeginAnEndThatWaits(absl::OkStatus(), absl::Seconds(1));
  loop_.Advance(absl::Seconds(2));
  EXPECT_EQ(server_->tally().calls(), 0u);
  ASSERT_EQ(served().writes.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(served().writes[0]));
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(call->completions[0]));
}

TEST_F(LostMessageTest, CancelEndsAnEndThatWaitsForMemory) {
  testing::StreamCall* const call = BeginAnEndThatWaits();
  EXPECT_EQ(server_->tally().calls(), 1u);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
  ASSERT_EQ(served().writes.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(served().writes[0]));
  EXPECT_EQ(network_.latest_server()->exporting(), 0u);
  EXPECT_EQ(call->completions.size(), 1u);
}

TEST_F(LostMessageTest, LostConnectionEndsAnEndThatWaitsForMemory) {
  testing::StreamCall* const call = BeginAnEndThatWaits();
  network_.latest_server()->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
  ASSERT_EQ(served().writes.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(served().writes[0]));
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(call->completions[0]));
}

}  // namespace
}  // namespace verbena
