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
    CallMessages messages{std::move(request), std::move(reply)};
    messages.SetApart(bytes);
    return messages;
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
  Keep(0, kLarge);
  Keep(0, kBytes);
  const size_t both = kept_.bytes();
  for (const size_t bytes : {kLarge, kBytes, kLarge, kBytes}) {
    CallMessages messages = kept_.Take(0, bytes);
    EXPECT_EQ(static_cast<const Text&>(*messages.request).value().size(), bytes);
    Keep(0, std::move(messages), bytes);
    EXPECT_EQ(kept_.bytes(), both);
  }
  EXPECT_NE(TakenRequest(0), nullptr);
  EXPECT_FALSE(kept_.Take(0, kBytes).request) << "the large one's are too large";
}

// What a large reply takes is no room for a request.
TEST_F(KeptMessagesTest, MessagesWithALargeReplyAreOfTheSizeOfTheirRequest) {
  Keep(0, 5 * kBytes);
  CallMessages small = Make(kBytes);
  static_cast<Text&>(*small.reply).set_value(std::string(7 * kBytes, 'r'));
  kept_.Keep(0, std::move(small), kBytes, 7 * kBytes);
  const CallMessages large = kept_.Take(0, 5 * kBytes);
  EXPECT_EQ(static_cast<const Text&>(*large.request).value().size(), 5 * kBytes);
}

TEST_F(KeptMessagesTest, WhatIsTakenOfTheOldestWasNotUnused) {
  constexpr size_t kLarge = 2 * KeptMessages::kTimesMax * kBytes;
  Keep(0, kLarge);
  Keep(0, kBytes);
  loop_.Advance(KeptMessages::kPeriod);
  Keep(0, kBytes);
  EXPECT_TRUE(kept_.Take(0, kLarge).request);
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_TRUE(kept_.Take(0, kBytes).request) << "it came within the period";
  EXPECT_EQ(kept_.bytes(), 0u);
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
}

TEST_F(KeptMessagesTest, MessagesCountAsNoLessThanBefore) {
  CallMessages messages = Make(kBytes);
  static_cast<Text&>(*messages.reply).set_value(std::string(5 * kBytes, 'r'));
  kept_.Keep(0, std::move(messages), kBytes, 5 * kBytes);
  const size_t before = kept_.bytes();
  messages = kept_.Take(0, kBytes);
  messages.reply = std::make_unique<Text>();  // As if its handler had moved all of it away.
  Keep(0, std::move(messages), kBytes);       // The second use is measured.
  EXPECT_EQ(kept_.bytes(), before);
}

TEST_F(KeptMessagesTest, TheGapCounts) {
  const CallMessages messages = Make(kBytes);
  const auto memory_of = [](const google::protobuf::MessageLite& message) {
    return static_cast<const Text&>(message).SpaceUsedLong();
  };
  Keep(0, kBytes);
  EXPECT_GE(kept_.bytes(), memory_of(*messages.request) + memory_of(*messages.reply) + 2048);
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
  messages.gap.reset();
  messages.SetApart(200);
  EXPECT_NE(messages.gap.get(), nullptr) << "another one, where there is no memory of the reply's yet";
}

}  // namespace
}  // namespace verbena::rpc
