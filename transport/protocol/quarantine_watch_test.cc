#include "transport/protocol/quarantine_watch.h"

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);

class QuarantineWatchTest : public testing::Test {
 protected:
  // After a second more.
  void Count(uint32_t count) { watch_.OnCount(count, now_ += absl::Seconds(1)); }

  absl::Time now_ = absl::UnixEpoch();
  QuarantineWatch watch_{kTimeout};
};

TEST_F(QuarantineWatchTest, AFewMayStayForEver) {
  for (uint32_t count = 1; count <= kQuarantineExportsMax; ++count) Count(count);
  EXPECT_EQ(watch_.Deadline(), absl::InfiniteFuture());
}

TEST_F(QuarantineWatchTest, TimeRunsFromTheFirstThatIsTooMany) {
  Count(kQuarantineExportsMax + 1);
  const absl::Time deadline = now_ + kTimeout;
  EXPECT_EQ(watch_.Deadline(), deadline);
  Count(kQuarantineExportsMax + 2);
  EXPECT_EQ(watch_.Deadline(), deadline);
}

TEST_F(QuarantineWatchTest, EachThatLeavesGivesTimeAnew) {
  Count(kQuarantineExportsMax + 3);
  Count(kQuarantineExportsMax + 2);
  EXPECT_EQ(watch_.Deadline(), now_ + kTimeout);
  Count(kQuarantineExportsMax);
  EXPECT_EQ(watch_.Deadline(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace verbena::protocol
