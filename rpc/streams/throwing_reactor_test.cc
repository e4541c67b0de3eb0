// Reactions that throw, at either end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rpc/certainty.h"
#include "rpc/reactors.h"
#include "rpc/testing/stream_fixture.h"
#include "transport/log.h"

namespace verbena {
namespace {

using testing::StreamCall;
using testing::Text;

constexpr rpc::StreamingMethod kBidi = {"test.Lambda/bidirectional-streaming", MethodKind::kBidiStreaming};

// Throws when the first message has come; may have ended its call before.
struct ThrowingHandler : ServerBidiReactor<Text, Text> {
  void OnReadDone(bool) override {
    if (finishes) Finish(absl::NotFoundError("what it had to say"));
    if (std::exchange(goes_on, false)) StartRead(&incoming);
    throw std::runtime_error("out of luck");
  }
  void OnDone() override {
    ++ends;
    throw std::runtime_error("nobody hears it");
  }

  Text incoming;
  bool finishes = false;
  bool goes_on = false;
  int ends = 0;
};

struct ThrowingCaller : ClientBidiReactor<Text, Text> {
  void OnReadInitialMetadataDone(bool) override {
    if (at_metadata) throw std::runtime_error("out of luck");
  }
  void OnReadDone(bool) override { throw std::runtime_error("out of luck"); }
  void OnDone(const absl::Status& status) override { end = status; }

  Text incoming;
  bool at_metadata = false;
  std::optional<absl::Status> end;
};

class ThrowingReactorTest : public testing::StreamFixture {
 protected:
  // What the caller hears whose first message is for `handler`.
  absl::Status EndWith(ThrowingHandler& handler) {
    Start();
    StreamCall& call = *Begin(MethodKind::kBidiStreaming);
    handler.StartRead(&handler.incoming);
    handler.Bind(served().stream, std::move(served().done));
    call.Write("a message");
    loop_.RunUntilIdle();
    EXPECT_EQ(handler.ends, 1);
    return call.completions.empty() ? absl::OkStatus() : call.completions[0];
  }
  void Call(ThrowingCaller& caller, ClientContext& context) {
    Start();
    caller.Bind(channel_.get(), kBidi, &context, nullptr, nullptr);
    caller.StartRead(&caller.incoming);
    caller.StartCall();
    loop_.RunUntilIdle();
  }
};

TEST_F(ThrowingReactorTest, OfAServerEndsItsCallAsInternalWithWhat) {
  ThrowingHandler handler;
  const absl::Status end = EndWith(handler);
  EXPECT_EQ(end.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(end.message(), "the reaction threw: out of luck");
  EXPECT_EQ(GetCertainty(end), Certainty::kExecuted);
}

TEST_F(ThrowingReactorTest, OfAServerThatHasFinishedIsALineInTheLog) {
  std::vector<std::string> lines;
  SetLogSink([&](Severity, absl::string_view text) { lines.emplace_back(text); });
  ThrowingHandler handler;
  handler.finishes = true;
  EXPECT_EQ(EndWith(handler).message(), "what it had to say");
  SetLogSink({});
  EXPECT_THAT(lines, ::testing::ElementsAre("the reaction threw: out of luck, when its call had ended",
                                            "the last reaction threw: nobody hears it"));
}

TEST_F(ThrowingReactorTest, OfAServerMayThrowAgainWhenTheNextReadFails) {
  ThrowingHandler handler;
  handler.goes_on = true;
  EXPECT_EQ(EndWith(handler).message(), "the reaction threw: out of luck");
}

TEST_F(ThrowingReactorTest, OfAClientCancelsTheCallAndEndsItAsInternalWithWhat) {
  ThrowingCaller caller;
  ClientContext context;
  Call(caller, context);
  served().Write("a message");
  loop_.RunUntilIdle();
  ASSERT_TRUE(caller.end.has_value());
  EXPECT_EQ(caller.end->code(), absl::StatusCode::kInternal);
  EXPECT_EQ(caller.end->message(), "the reaction threw: out of luck");
  EXPECT_EQ(GetCertainty(*caller.end), Certainty::kOutcomeUnknown);
  EXPECT_TRUE(served().context->IsCancelled());
}

TEST_F(ThrowingReactorTest, OfAClientMayThrowWhenItHearsOfTheInitialMetadata) {
  ThrowingCaller caller;
  caller.at_metadata = true;
  ClientContext context;
  Call(caller, context);
  served().context->SendInitialMetadata();
  loop_.RunUntilIdle();
  ASSERT_TRUE(caller.end.has_value());
  EXPECT_EQ(caller.end->code(), absl::StatusCode::kInternal);
}

TEST_F(ThrowingReactorTest, OfAClientAtTheCallsEndIsAsSureAsThat) {
  ThrowingCaller caller;
  ClientContext context;
  Call(caller, context);
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  ASSERT_TRUE(caller.end.has_value());
  EXPECT_EQ(caller.end->code(), absl::StatusCode::kInternal);
  EXPECT_EQ(GetCertainty(*caller.end), Certainty::kExecuted);
}

}  // namespace
}  // namespace verbena
