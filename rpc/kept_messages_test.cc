#include "rpc/kept_messages.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/testing/call_fixture.h"

namespace verbena::rpc {
namespace {

using testing::Text;

class KeptMessagesTest : public ::testing::Test {
 protected:
  static constexpr size_t kMethods = 2;

  // Whose request has so many bytes.
  CallMessages Make(size_t bytes) {
    auto request = std::make_unique<Text>();
    request->set_value(std::string(bytes, 'q'));
    auto reply = std::make_unique<Text>();
    reply->set_value(std::string(10, 'r'));
    return {std::move(request), std::move(reply)};
  }
  void Keep(uint32_t method, CallMessages messages, size_t bytes) {
    kept_.Keep(method, std::move(messages), bytes, /*reply_bytes=*/10);
  }
  void Keep(uint32_t method, size_t bytes) { Keep(method, Make(bytes), bytes); }
  // Whose they are: the address of the request that is taken. Null: there are none.
  const void* TakenRequest(uint32_t method) { return kept_.Take(method, kBytes).request.get(); }

  static constexpr size_t kBytes = 100'000;
  testing::ManualLoop loop_;
  KeptMessages kept_{&loop_, kMethods};
};

TEST_F(KeptMessagesTest, GivesTheNewestOfTheMethodFirst) {
  CallMessages old = Make(kBytes);
  CallMessages young = Make(kBytes);
  const void* const old_request = old.request.get();
  const void* const young_request = young.request.get();
  Keep(0, std::move(old), kBytes);
  Keep(0, std::move(young), kBytes);
  EXPECT_GE(kept_.bytes(), 2 * kBytes);
  EXPECT_EQ(TakenRequest(1), nullptr) << "another method's are of another type";
  EXPECT_EQ(TakenRequest(0), young_request);
  EXPECT_EQ(TakenRequest(0), old_request);
  EXPECT_EQ(TakenRequest(0), nullptr);
  EXPECT_EQ(kept_.bytes(), 0u);
}

TEST_F(KeptMessagesTest, AReplyIsEmpty) {
  Keep(0, kBytes);
  EXPECT_EQ(static_cast<const Text&>(*kept_.Take(0, kBytes).reply).value(), "");
}

TEST_F(KeptMessagesTest, NoMoreThanSoMuchIsKept) {
  Keep(0, KeptMessages::kBytesMax - 2 * kBytes);
  const size_t before = kept_.bytes();
  Keep(1, 3 * kBytes);
  EXPECT_EQ(kept_.bytes(), before);
  Keep(1, kBytes);
  EXPECT_GE(kept_.bytes(), before + kBytes);
  EXPECT_LE(kept_.bytes(), KeptMessages::kBytesMax);
  Keep(1, CallMessages{}, kBytes);
  EXPECT_LE(kept_.bytes(), before + 2 * kBytes) << "a call without messages has none to keep";
}

TEST_F(KeptMessagesTest, ACallGetsNoneThatAreFarTooLarge) {
  Keep(0, kBytes);
  EXPECT_FALSE(kept_.Take(0, kBytes / KeptMessages::kTimesMax).request);
  EXPECT_NE(TakenRequest(0), nullptr);
}

// Calls with such requests could not have them, and those with larger ones may never come.
TEST_F(KeptMessagesTest, MessagesOfALargeReplyToASmallRequestAreNotKept) {
  CallMessages messages = Make(kBytes);
  static_cast<Text&>(*messages.reply).set_value(std::string(KeptMessages::kTimesMax * kBytes, 'r'));
  kept_.Keep(0, std::move(messages), kBytes, KeptMessages::kTimesMax * kBytes);
  EXPECT_EQ(kept_.bytes(), 0u);
  messages = Make(kBytes);
  static_cast<Text&>(*messages.reply).set_value(std::string(KeptMessages::kTimesMax * kBytes, 'r'));
  Keep(0, std::move(messages), kBytes);
  EXPECT_EQ(kept_.bytes(), 0u) << "the same, of a reply that has shrunk again";
}

TEST_F(KeptMessagesTest, CallsOfTwoSizesHaveTheirOwn) {
  constexpr size_t kLarge = 2 * KeptMessages::kTimesMax * kBytes;
  CallMessages small = Make(kBytes);
  CallMessages large = Make(kLarge);
  const void* const small_request = small.request.get();
  const void* const large_request = large.request.get();
  Keep(0, std::move(large), kLarge);
  Keep(0, std::move(small), kBytes);
  const size_t both = kept_.bytes();
  for (int i = 0; i < 4; ++i) {
    large = kept_.Take(0, kLarge);
    EXPECT_EQ(large.request.get(), large_request);
    Keep(0, std::move(large), kLarge);
    small = kept_.Take(0, kBytes);
    EXPECT_EQ(small.request.get(), small_request);
    Keep(0, std::move(small), kBytes);
    EXPECT_EQ(kept_.bytes(), both);
  }
  EXPECT_NE(TakenRequest(0), nullptr);
  EXPECT_FALSE(kept_.Take(0, kBytes).request) << "the large one's are too large";
}

TEST_F(KeptMessagesTest, ALargerCallHasTheNewestIfNoneHasRoomForIt) {
  Keep(0, kBytes);
  CallMessages newest = Make(kBytes);
  const void* const newest_request = newest.request.get();
  Keep(0, std::move(newest), kBytes);
  EXPECT_EQ(kept_.Take(0, 50 * kBytes).request.get(), newest_request);
}

// Their memory, not what the last call had in it: protobuf keeps it.
TEST_F(KeptMessagesTest, MessagesThatHaveGrownAreMeasuredAnew) {
  CallMessages messages = Make(kBytes);
  for (int uses = 1; uses <= 3; ++uses) {
    if (uses == 3) static_cast<Text&>(*messages.reply).set_value(std::string(5 * kBytes, 'r'));
    kept_.Keep(0, std::move(messages), kBytes, uses == 3 ? 5 * kBytes : 0);
    EXPECT_EQ(kept_.bytes() >= 6 * kBytes, uses == 3) << "the larger call is seen at once";
    messages = kept_.Take(0, kBytes);
  }
  static_cast<Text&>(*messages.reply).set_value(std::string(8 * kBytes, 'r'));
  Keep(0, std::move(messages), kBytes);
  EXPECT_GE(kept_.bytes(), 9 * kBytes) << "and what no call has said, with the fourth";
  messages = kept_.Take(0, kBytes);
  Keep(0, std::move(messages), kBytes);
  EXPECT_GE(kept_.bytes(), 9 * kBytes) << "it holds as much as before";
}

TEST_F(KeptMessagesTest, NoneIsUsedForEver) {
  CallMessages messages = Make(kBytes);
  uint32_t uses = 0;
  for (; messages.request != nullptr && uses < 1000; ++uses) {
    Keep(0, std::move(messages), kBytes);
    messages = kept_.Take(0, kBytes);
  }
  EXPECT_EQ(uses, KeptMessages::kUsesMax);
  EXPECT_EQ(kept_.bytes(), 0u);
}

TEST_F(KeptMessagesTest, WhatIsNotTakenForAWholePeriodIsGivenBack) {
  Keep(0, kBytes);
  Keep(0, kBytes);
  Keep(1, kBytes);
  const size_t all = kept_.bytes();
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), all) << "they came within it";
  Keep(0, kept_.Take(0, kBytes), kBytes);
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), all / 3);
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), 0u);
}

TEST_F(KeptMessagesTest, NotAllMemoryIsGivenBackAtOnce) {
  constexpr size_t kMany = KeptMessages::kGivenBackMax / 4;
  for (int i = 0; i < 12; ++i) Keep(i % 2, kMany);
  const size_t all = kept_.bytes();
  loop_.Advance(KeptMessages::kPeriod);
  std::vector<size_t> left;
  for (int i = 0; i < 3; ++i) {
    loop_.Advance(KeptMessages::kPeriod);
    left.push_back(kept_.bytes());
  }
  EXPECT_EQ(left, (std::vector<size_t>{all * 2 / 3, all / 3, 0}));
}

TEST_F(KeptMessagesTest, ALoopWithoutAnySleeps) {
  Keep(0, kBytes);
  loop_.Advance(2 * KeptMessages::kPeriod);
  EXPECT_EQ(loop_.timers(), 0u);
  Keep(0, kBytes);
  EXPECT_EQ(loop_.timers(), 1u);
  kept_.Clear();
  EXPECT_EQ(loop_.timers(), 0u);
  EXPECT_EQ(kept_.bytes(), 0u);
}

// Which method begins changes, so that one that always has something does not keep all others waiting.
TEST_F(KeptMessagesTest, EachMethodIsTheFirstToGiveBackInTurn) {
  constexpr size_t kMany = KeptMessages::kGivenBackMax;
  for (const uint32_t method : {0, 0, 1, 1}) Keep(method, kMany);
  for (int period = 0; period < 3; ++period) loop_.Advance(KeptMessages::kPeriod);
  for (const uint32_t method : {0, 1}) {
    EXPECT_TRUE(kept_.Take(method, kMany).request) << method;
    EXPECT_FALSE(kept_.Take(method, kMany).request) << method;
  }
}

TEST(CallMessages, HaveAGapBehindTheLargestRequest) {
  CallMessages messages;
  messages.SetApart(100);
  const std::byte* const first = messages.gap.get();
  EXPECT_NE(first, nullptr);
  messages.SetApart(90);
  EXPECT_EQ(messages.gap.get(), first) << "it stands behind the larger one";
  const std::unique_ptr<std::byte[]> gap_before = std::move(messages.gap);
  messages.SetApart(200);
  EXPECT_NE(messages.gap.get(), nullptr) << "another one, where there is no memory of the reply's yet";
}

// The same with calls: who has which messages, and what the clients get.
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

}  // namespace
}  // namespace verbena::rpc
