// What calls that stream carry: client and server in one process, virtual time, a network in memory.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Served;

using StreamCallTest = testing::StreamFixture;

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

// By a completion that runs the loop.
TEST_F(StreamCallTest, MayEndAndItsPlaceBeUsedWhileItsMessageIsTaken) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  std::shared_ptr<testing::TestCall> unary;
  call->stream->Read(&call->incoming, nullptr, [&](absl::Status status) {
    EXPECT_TRUE(status.ok());
    served().done(absl::NotFoundError("no more"));
    loop_.RunUntilIdle();
    EXPECT_EQ(call->completions.size(), 1u);
    unary = Call("test.Lambda/Echo");
  });
  served().Write("x");
  loop_.RunUntilIdle();
  ASSERT_NE(unary, nullptr);
  EXPECT_THAT(unary->completions, ElementsAre(absl::OkStatus()));
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
  EXPECT_EQ(network_.latest_client()->awaited_sent(), 1u);  // The request's delivery: writes begin then.
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
  EXPECT_EQ(network_.latest_client()->awaited_sent(), 0u);
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

TEST_F(StreamCallTest, AnErrorOfTheHandlersWaitsForWhatItWroteBefore) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  network_.latest_client()->HoldFetches();
  served().Write(std::string(10'000, '.'));
  loop_.RunUntilIdle();
  served().done(absl::AbortedError("no more"));
  loop_.RunUntilIdle();
  EXPECT_THAT(call->completions, IsEmpty());
  network_.latest_client()->ReleaseFetches();
  call->ReadAll();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(call->completions[0]));
  EXPECT_EQ(call->received.size(), 1u);
}

TEST_F(StreamCallTest, EndOfTheUsersPatienceDoesNotWaitForThem) {
  Start();
  auto call = Begin(MethodKind::kServerStreaming);
  network_.latest_client()->HoldFetches();
  served().Write(std::string(10'000, '.'));
  loop_.RunUntilIdle();
  served().done(absl::AbortedError("no more"));
  loop_.RunUntilIdle();
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(call->completions[0]));
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

}  // namespace
}  // namespace verbena
