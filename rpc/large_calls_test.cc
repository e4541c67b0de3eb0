// What large calls' messages are kept for: who has which, and what the clients get. How they are kept is tested by
// kept_messages_test.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rpc/kept_messages.h"
#include "rpc/testing/call_fixture.h"

namespace verbena::rpc {
namespace {

using testing::Text;

class LargeCallsTest : public testing::CallFixture {
 protected:
  static constexpr absl::string_view kNote = "test.Lambda/Note";
  static constexpr absl::string_view kHold = "test.Lambda/Hold";
  static constexpr size_t kBytes = 100'000;

  LargeCallsTest() {
    service_.AddCallback("Note", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
      requests_.push_back(&request);
      room_.push_back(request.value().capacity());
      EXPECT_EQ(reply->value(), "");
      reply->set_value(request.value());
      done(absl::OkStatus());
    });
  }

  Responder late_;
  std::vector<const Text*> requests_;  // Of each call, where it stood.
  std::vector<size_t> room_;           // And for how much there was room.
};

TEST_F(LargeCallsTest, MessagesServeTheNextCallWhileTheReplyWaitsToBeFetched) {
  Start();
  network_.latest_client()->HoldFetches();
  const auto first = Call(kNote, std::string(kBytes, 'a'));
  const auto second = Call(kNote, std::string(kBytes / 2, 'b'));
  EXPECT_FALSE(first->done());
  EXPECT_EQ(requests_.at(0), requests_.at(1));
  EXPECT_GE(room_.at(1), kBytes) << "the first one's memory";
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  EXPECT_EQ(first->reply.value(), std::string(kBytes, 'a'));
  EXPECT_EQ(second->reply.value(), std::string(kBytes / 2, 'b'));
}

TEST_F(LargeCallsTest, WhatAHandlerStillHasNobodyElseGets) {
  Start();
  Call(kHold, std::string(kBytes, 'k'));
  held_.at(0).done(absl::OkStatus());  // Its messages are kept.
  loop_.RunUntilIdle();
  const auto held = Call(kHold, std::string(kBytes, 'h'));
  EXPECT_EQ(held_.at(0).reply, held_.at(1).reply);
  const auto other = Call(kHold, std::string(kBytes, 'o'));
  EXPECT_NE(held_.at(1).reply, held_.at(2).reply);
  held_.at(1).reply->set_value(std::string(kBytes, 'x'));
  held_.at(2).reply->set_value(std::string(kBytes, 'y'));
  held_.at(2).done(absl::OkStatus());
  held_.at(1).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(held->reply.value(), std::string(kBytes, 'x'));
  EXPECT_EQ(other->reply.value(), std::string(kBytes, 'y'));
}

TEST_F(LargeCallsTest, ACancelledCallsMessagesAreItsHandlersUntilThatIsDone) {
  Start();
  const auto cancelled = Call(kHold, std::string(kBytes, 'c'));
  cancelled->context.TryCancel();
  loop_.RunUntilIdle();
  const auto other = Call(kHold, std::string(kBytes, 'o'));
  EXPECT_NE(held_.at(0).reply, held_.at(1).reply);
  held_.at(1).reply->set_value("other");
  held_.at(0).reply->set_value(std::string(kBytes, 'x'));
  held_.at(0).done(absl::OkStatus());
  held_.at(1).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(cancelled->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(other->reply.value(), "other");
}

TEST_F(LargeCallsTest, SmallCallsHaveNoneOfTheLargeOnesMemory) {
  Start();
  Call(kNote, std::string(kBytes, 'a'));
  const auto small = Call(kNote, "small");
  Call(kNote, "small");
  EXPECT_EQ(small->reply.value(), "small");
  EXPECT_LT(room_.at(1), kBytes);
  EXPECT_EQ(requests_.at(1), requests_.at(2)) << "they are recycled with their call";
  loop_.Advance(2 * KeptMessages::kPeriod);
  Call(kNote, std::string(kBytes / 2, 'b'));
  EXPECT_LT(room_.at(3), kBytes) << "no call needed it";
}

TEST_F(LargeCallsTest, AFailedOnesAreKeptToo) {
  service_.AddCallback("Fail", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
    room_.push_back(request.value().capacity());
    EXPECT_EQ(reply->value(), "");
    reply->set_value(std::string(kBytes, 'r'));
    done(absl::InternalError("no"));
  });
  Start();
  for (const size_t bytes : {kBytes, kBytes / 2}) {
    ExpectFailed(*Call("test.Lambda/Fail", std::string(bytes, 'a')), absl::StatusCode::kInternal, Certainty::kExecuted,
                 "no");
  }
  EXPECT_GE(room_.at(1), kBytes);
}

// Whether it is cancelled before the reply is written or after: the next call has its messages.
TEST_F(LargeCallsTest, ACallThatIsCancelledWhileItsReplyWaitsLosesNoMessages) {
  for (const bool written : {false, true}) {
    Start();
    if (written) {
      network_.latest_client()->HoldFetches();
    } else {
      network_.latest_server()->HoldExports();
    }
    const auto cancelled = Call(kNote, std::string(kBytes, 'a'));
    EXPECT_FALSE(cancelled->done());
    cancelled->context.TryCancel();
    loop_.RunUntilIdle();
    EXPECT_EQ(cancelled->status().code(), absl::StatusCode::kCancelled);
    network_.latest_client()->ReleaseFetches();
    network_.latest_server()->ReleaseExports();
    loop_.RunUntilIdle();
    const auto next = Call(kNote, std::string(kBytes / 2, 'b'));
    EXPECT_EQ(next->reply.value(), std::string(kBytes / 2, 'b'));
    EXPECT_GE(room_.back(), kBytes) << written;
    StopServer();
  }
}

TEST_F(LargeCallsTest, AReplyThatNobodyWaitsForKeepsNoMemory) {
  service_.AddCallback("Room", [this](ServerContext*, const Text&, Text* reply, Responder done) {
    room_.push_back(reply->value().capacity());
    if (room_.size() == 1) {
      reply->set_value(std::string(kBytes, 'r'));
      late_ = std::move(done);
    } else {
      done(absl::OkStatus());
    }
  });
  Start();
  const auto cancelled = Call("test.Lambda/Room", "small");
  cancelled->context.TryCancel();
  loop_.RunUntilIdle();
  std::move(late_)(absl::OkStatus());
  loop_.RunUntilIdle();
  Call("test.Lambda/Room", "small");
  EXPECT_LT(room_.at(1), kBytes);
}

TEST_F(LargeCallsTest, AReplyThatFindsNoMemoryLosesNoMessages) {
  Start();
  network_.latest_server()->HoldExports();
  const auto lost = Call(kNote, std::string(kBytes, 'a'));
  network_.latest_server()->FailExports();
  loop_.RunUntilIdle();
  EXPECT_EQ(lost->status().code(), absl::StatusCode::kResourceExhausted);
  network_.latest_server()->ReleaseExports();
  const auto next = Call(kNote, std::string(kBytes / 2, 'b'));
  EXPECT_EQ(next->reply.value(), std::string(kBytes / 2, 'b'));
  EXPECT_GE(room_.at(1), kBytes) << "the first one's memory";
}

TEST_F(LargeCallsTest, AServerGoesWithMessagesKeptAndOut) {
  Start();
  Call(kNote, std::string(kBytes, 'a'));
  Call(kHold, std::string(kBytes, 'h'));
  StopServer();
  EXPECT_EQ(held_.at(0).reply->value(), "") << "the handler's still";
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
}

// The outcome of its send is late, as transport/connection.h allows.
TEST_F(LargeCallsTest, CancelThatCrossesALargeResponseEndsTheCall) {
  Start();
  network_.latest_client()->HoldReports();
  network_.latest_client()->HoldFetches();
  const auto call = Call(kHold, std::string(100000, 'x'));
  ASSERT_EQ(held_.size(), 1u);
  held_[0].reply->set_value(std::string(100000, 'y'));
  call->context.TryCancel();
  held_[0].done(absl::OkStatus());
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kCancelled, Certainty::kExecuted, "cancelled");
}

}  // namespace
}  // namespace verbena::rpc
