#include "transport/protocol/keepalive.h"

#include <algorithm>

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

TEST(Keepalive, SilenceCountsFromTheLastFrame) {
  Keepalive keepalive(kInterval, kTimeout, kStart);
  for (int second = 1; second <= 25; ++second) keepalive.OnFrame(kStart + absl::Seconds(second));
  int judgements = 0;
  absl::Time now = kStart;
  do {
    now = std::max(now, keepalive.Deadline());
    ++judgements;
  } while (keepalive.Judge(now) == Judgement::kAlive);
  EXPECT_EQ(now, kStart + absl::Seconds(35)) << "when it is probed";
  EXPECT_EQ(judgements, 2);
}

TEST(Keepalive, AnIntervalOfZeroNeverProbes) {
  Keepalive keepalive(absl::ZeroDuration(), kTimeout, kStart);
  EXPECT_EQ(keepalive.Deadline(), absl::InfiniteFuture());
  EXPECT_EQ(keepalive.Judge(kStart + absl::Hours(1000)), Judgement::kAlive);
}

}  // namespace
}  // namespace verbena::protocol
