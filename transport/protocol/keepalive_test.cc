#include "transport/protocol/keepalive.h"

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

using Judgement = Keepalive::Judgement;

const absl::Time kStart = absl::UnixEpoch();
constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kTimeout = absl::Seconds(5);

TEST(Keepalive, ASilentPeerIsProbedOnce) {
  Keepalive keepalive(kInterval, kTimeout, kStart);
  EXPECT_EQ(keepalive.Judge(kStart + absl::Seconds(9)), Judgement::kAlive);
  EXPECT_EQ(keepalive.Judge(kStart + absl::Seconds(10)), Judgement::kProbe);
  EXPECT_EQ(keepalive.Judge(kStart + absl::Seconds(11)), Judgement::kAlive);
}

TEST(Keepalive, AnUnansweredProbeMeansDead) {
  Keepalive keepalive(kInterval, kTimeout, kStart);
  keepalive.Judge(kStart + kInterval);
  EXPECT_EQ(keepalive.Deadline(), kStart + kInterval + kTimeout);
  EXPECT_EQ(keepalive.Judge(keepalive.Deadline()), Judgement::kDead);
}

TEST(Keepalive, AnyFrameAnswersAProbe) {
  Keepalive keepalive(kInterval, kTimeout, kStart);
  keepalive.Judge(kStart + kInterval);
  keepalive.OnFrame(kStart + absl::Seconds(12));
  EXPECT_EQ(keepalive.Judge(kStart + absl::Seconds(16)), Judgement::kAlive);
  EXPECT_EQ(keepalive.Deadline(), kStart + absl::Seconds(22));
}

TEST(Keepalive, AnIntervalOfZeroNeverProbes) {
  Keepalive keepalive(absl::ZeroDuration(), kTimeout, kStart);
  EXPECT_EQ(keepalive.Deadline(), absl::InfiniteFuture());
  EXPECT_EQ(keepalive.Judge(kStart + absl::Hours(1000)), Judgement::kAlive);
}

}  // namespace
}  // namespace verbena::protocol
