#include "rpc/core/balancing/outlier_detector.h"

#include <gtest/gtest.h>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
constexpr absl::Duration kBase = absl::Seconds(30);

class OutlierDetectorTest : public testing::Test {
 protected:
  void Make(size_t servers, OutlierOptions options = {}) {
    list_ = ReadyList(Addresses(servers));
    detector_.emplace(options);
    detector_->SetServers(list_.servers());
  }

  ServerId Id(size_t position) const { return list_.servers()[position].id; }
  bool Fail(size_t position, int times, absl::Time now = kStart) {
    bool changed = false;
    for (int i = 0; i < times; ++i) changed |= detector_->OnCallEnded(Id(position), CallOutcome::kServerFault, now);
    return changed;
  }
  void Answer(size_t position, int times, absl::Time now = kStart) {
    for (int i = 0; i < times; ++i) detector_->OnCallEnded(Id(position), CallOutcome::kAnswered, now);
  }
  // One interval of calls: each server answers all, but `bad` only so many percent.
  void Interval(size_t bad, int percent) {
    for (size_t i = 0; i < list_.servers().size(); ++i) {
      for (int call = 0; call < 100; ++call) {
        const bool answered = i != bad || call % 10 < percent / 10;
        detector_->OnCallEnded(Id(i), answered ? CallOutcome::kAnswered : CallOutcome::kServerFault, kStart);
      }
    }
    detector_->OnDeadline(kStart + absl::Seconds(10));
  }

  ServerList list_;
  std::optional<OutlierDetector> detector_;
};

TEST_F(OutlierDetectorTest, FailuresInARowEject) {
  Make(3);
  EXPECT_FALSE(Fail(0, 4));
  EXPECT_TRUE(Fail(0, 1));
  EXPECT_TRUE(detector_->IsEjected(Id(0)));
}

TEST_F(OutlierDetectorTest, AnswerBeginsTheRowAnew) {
  Make(3);
  Fail(0, 4);
  Answer(0, 1);
  EXPECT_FALSE(Fail(0, 4));
}

TEST_F(OutlierDetectorTest, CancelledCallsSayNothing) {
  Make(3);
  Fail(0, 4);
  EXPECT_FALSE(detector_->OnCallEnded(Id(0), CallOutcome::kNoVerdict, kStart));
  EXPECT_TRUE(Fail(0, 1));
}

TEST_F(OutlierDetectorTest, EjectionEndsAfterItsTime) {
  Make(3);
  Fail(0, 5);
  EXPECT_FALSE(detector_->OnDeadline(kStart + kBase - absl::Nanoseconds(1)));
  EXPECT_TRUE(detector_->OnDeadline(kStart + kBase));
  EXPECT_FALSE(detector_->IsEjected(Id(0)));
}

// How long the next ejection of server 0 lasts.
absl::Duration EjectionOf(OutlierDetector& detector, ServerId id, absl::Time& now) {
  const absl::Time began = now;
  while (!detector.IsEjected(id)) detector.OnCallEnded(id, CallOutcome::kServerFault, now);
  while (detector.IsEjected(id)) {
    now = detector.NextDeadline();
    detector.OnDeadline(now);
  }
  return now - began;
}

TEST_F(OutlierDetectorTest, EjectionsGrowUpToTheirMaximum) {
  Make(3, {.interval = absl::Hours(10)});
  absl::Time now = kStart;
  EXPECT_EQ(EjectionOf(*detector_, Id(0), now), kBase);
  EXPECT_EQ(EjectionOf(*detector_, Id(0), now), 2 * kBase);
  EXPECT_EQ(EjectionOf(*detector_, Id(0), now), 3 * kBase);
  for (int i = 0; i < 20; ++i) EjectionOf(*detector_, Id(0), now);
  EXPECT_EQ(EjectionOf(*detector_, Id(0), now), absl::Seconds(300));
}

TEST_F(OutlierDetectorTest, GoodTimesShortenTheNextEjection) {
  Make(3);
  absl::Time now = kStart;
  EjectionOf(*detector_, Id(0), now);
  while (detector_->NextDeadline() != absl::InfiniteFuture()) {
    now = detector_->NextDeadline();
    detector_->OnDeadline(now);
  }
  EXPECT_EQ(EjectionOf(*detector_, Id(0), now), kBase);
}

TEST_F(OutlierDetectorTest, NoMoreThanTheirShareAreEjected) {
  Make(20);
  for (size_t i = 0; i < 20; ++i) Fail(i, 50);
  EXPECT_EQ(detector_->ejected(), 2u);
}

TEST_F(OutlierDetectorTest, AtLeastOneMayBeAndNeverAll) {
  Make(2);
  EXPECT_EQ(detector_->EjectedMax(), 1u);
  Make(3, {.max_ejection_percent = 100});
  for (size_t i = 0; i < 3; ++i) Fail(i, 50);
  EXPECT_EQ(detector_->ejected(), 2u);
  Make(1, {.max_ejection_percent = 100});
  EXPECT_FALSE(Fail(0, 50));
}

TEST_F(OutlierDetectorTest, ZeroPercentEjectsNobody) {
  Make(10, {.max_ejection_percent = 0});
  EXPECT_FALSE(Fail(0, 50));
}

TEST_F(OutlierDetectorTest, LowSuccessRateEjects) {
  Make(10, {.consecutive_failures = 0});
  Interval(3, 50);
  EXPECT_TRUE(detector_->IsEjected(Id(3)));
  EXPECT_EQ(detector_->ejected(), 1u);
}

TEST_F(OutlierDetectorTest, EqualSuccessRatesEjectNobody) {
  Make(10, {.consecutive_failures = 0});
  for (size_t i = 0; i < 10; ++i) Fail(i, 60), Answer(i, 60);
  detector_->OnDeadline(kStart + absl::Seconds(10));
  EXPECT_EQ(detector_->ejected(), 0u);
}

TEST_F(OutlierDetectorTest, TooFewServersOrCallsAreNotCompared) {
  Make(4, {.consecutive_failures = 0});
  Interval(3, 50);
  EXPECT_EQ(detector_->ejected(), 0u);
  Make(10, {.consecutive_failures = 0, .calls_min = 101});
  Interval(3, 50);
  EXPECT_EQ(detector_->ejected(), 0u);
}

TEST_F(OutlierDetectorTest, ServerThatLeavesTakesItsEjectionAlong) {
  Make(3);
  Fail(0, 5);
  list_.Update(std::vector<ServerAddress>{{"s1"}, {"s2"}});
  detector_->SetServers(list_.servers());
  EXPECT_EQ(detector_->ejected(), 0u);
  EXPECT_TRUE(Fail(0, 5));
}

TEST_F(OutlierDetectorTest, NothingToJudgeHasNoDeadline) {
  Make(3);
  EXPECT_EQ(detector_->NextDeadline(), absl::InfiniteFuture());
  Answer(0, 1);
  EXPECT_EQ(detector_->NextDeadline(), kStart + absl::Seconds(10));
  detector_->OnDeadline(kStart + absl::Seconds(10));
  detector_->OnDeadline(kStart + absl::Seconds(20));
  EXPECT_EQ(detector_->NextDeadline(), absl::InfiniteFuture());
}

TEST_F(OutlierDetectorTest, BadOptionsAreNamed) {
  EXPECT_EQ(CheckOptions({.max_ejection_percent = 101}).message(),
            "OutlierOptions: max_ejection_percent is 101; allowed are 0 to 100");
  EXPECT_EQ(CheckOptions({.interval = absl::ZeroDuration()}).message(),
            "OutlierOptions: interval is 0; it must be more than zero");
  EXPECT_EQ(CheckOptions({.stdev_factor = -1}).message(), "OutlierOptions: stdev_factor is -1; it must be 0 or more");
  EXPECT_TRUE(CheckOptions(OutlierOptions()).ok());
}

}  // namespace
}  // namespace verbena::rpc
