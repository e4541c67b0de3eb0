// What a server keeps of calls for those that come after them, and for how long.

#include "rpc/idle_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "rpc/testing/call_fixture.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

using testing::LiveAllocationCount;

class IdleCallsTest : public testing::CallFixture {
 protected:
  // At the same time. Returns how much more is allocated when they have ended.
  int64_t Make(int calls) {
    const int64_t before = LiveAllocationCount();
    for (int i = 0; i < calls; ++i) Call("test.Lambda/Hold", std::string(10'000, 'x'));
    EXPECT_EQ(held_.size(), static_cast<size_t>(calls));
    for (Held& held : held_) held.done(absl::OkStatus());
    held_.clear();
    loop_.RunUntilIdle();
    return LiveAllocationCount() - before;
  }
};

TEST_F(IdleCallsTest, WhatCallsHadServesOthersOfTheNextSecond) {
  Start();
  Make(100);
  loop_.Advance(absl::Milliseconds(900));
  EXPECT_LT(Make(100), 10);
}

// Messages may take twenty times their bytes on the wire, and more.
TEST_F(IdleCallsTest, WhatNoCallNeedsGoesAFewAtATime) {
  Start();
  const int64_t kept = Make(200);
  EXPECT_GT(kept, 200 * 4);
  const int64_t before = LiveAllocationCount();
  loop_.Advance(absl::Seconds(2));
  const int64_t soon = before - LiveAllocationCount();
  EXPECT_GT(soon, 0);
  EXPECT_LT(soon, kept / 2);
  loop_.Advance(absl::Seconds(20));
  EXPECT_GT(before - LiveAllocationCount(), kept * 7 / 10);
}

TEST_F(IdleCallsTest, WhatIsInUseStays) {
  Start();
  Make(100);
  for (int seconds = 0; seconds < 10; ++seconds) {
    Make(10);
    loop_.Advance(absl::Seconds(1));
  }
  EXPECT_LT(Make(10), 10);
  EXPECT_GT(Make(100), 100);
}

}  // namespace
}  // namespace verbena::rpc
