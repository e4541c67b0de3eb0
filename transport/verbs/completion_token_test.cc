#include "transport/verbs/completion_token.h"

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

enum class Work : uint8_t { kReceive = 1, kRead = 255 };

constexpr CompletionToken kToken = CompletionToken::Of(Work::kRead, CompletionToken::kIndexMax, 0xdeadbeef);
static_assert(CompletionToken::FromWorkRequestId(kToken.work_request_id()) == kToken);

TEST(CompletionToken, EncodesKindIndexGenerationFromTheTop) {
  EXPECT_EQ(CompletionToken::Of(Work::kReceive, 2, 3).work_request_id(), 0x01'000002'00000003u);
}

TEST(CompletionToken, LargestValuesSurviveTheRoundTrip) {
  CompletionToken decoded = CompletionToken::FromWorkRequestId(kToken.work_request_id());
  EXPECT_EQ(decoded.kind<Work>(), Work::kRead);
  EXPECT_EQ(decoded.index(), CompletionToken::kIndexMax);
  EXPECT_EQ(decoded.generation(), 0xdeadbeefu);
}

TEST(CompletionToken, AnotherGenerationOfTheSlotIsAnotherToken) {
  EXPECT_NE(CompletionToken::Of(Work::kRead, 7, 1), CompletionToken::Of(Work::kRead, 7, 2));
}

TEST(CompletionToken, AnyWorkRequestIdDecodes) {
  CompletionToken token = CompletionToken::FromWorkRequestId(~uint64_t{0});
  EXPECT_EQ(token.kind(), 0xff);
  EXPECT_EQ(token.index(), CompletionToken::kIndexMax);
  EXPECT_EQ(token.generation(), 0xffffffffu);
}

}  // namespace
}  // namespace verbena::verbs
