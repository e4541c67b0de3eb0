#include <gtest/gtest.h>

#include "rpc/core/overload/load_average.h"
#include "rpc/core/overload/load_report.h"

namespace verbena::rpc {
namespace {

absl::Time At(int ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(LoadAverage, FirstMeasurementIsTaken) {
  LoadAverage load;
  EXPECT_EQ(load.Add(0.7, At(0)), 0.7);
}

TEST(LoadAverage, OneOddMeasurementChangesLittle) {
  LoadAverage load;
  load.Add(0.5, At(0));
  EXPECT_NEAR(load.Add(1, At(10)), 0.51, 1e-9);
}

TEST(LoadAverage, LastingChangeShowsWithinTheTimeConstantHoweverOftenItIsMeasured) {
  for (const int step_ms : {1, 10, 100}) {
    LoadAverage load;
    load.Add(0, At(0));
    for (int ms = step_ms; ms <= 1500; ms += step_ms) load.Add(1, At(ms));
    EXPECT_GT(load.average(), 0.94) << step_ms;
  }
}

TEST(LoadAverage, AfterAPauseOnlyTheNewMeasurementCounts) {
  LoadAverage load;
  load.Add(1, At(0));
  EXPECT_DOUBLE_EQ(load.Add(0.2, At(10000)), 0.2);
}

TEST(LoadReport, LooksAtMostOnceAnInterval) {
  LoadReport report;
  EXPECT_TRUE(report.IsDue(At(0)));
  EXPECT_FALSE(report.IsDue(At(99)));
  EXPECT_TRUE(report.IsDue(At(100)));
}

// Whether a response at `now` says `load`; then it does.
bool Says(LoadReport& report, double load, absl::Time now) {
  if (!report.IsNews(load, now)) return false;
  report.OnSaid(load, now);
  return true;
}

TEST(LoadReport, OnlyANoticeableChangeIsNews) {
  LoadReport report;
  EXPECT_FALSE(Says(report, 0.04, At(0)));
  EXPECT_TRUE(Says(report, 0.06, At(0)));
  EXPECT_FALSE(Says(report, 0.1, At(0)));
  EXPECT_TRUE(Says(report, 0.12, At(0)));
  EXPECT_TRUE(Says(report, 0, At(0)));
}

TEST(LoadReport, LoadIsNewsUntilItIsSaid) {
  LoadReport report;
  EXPECT_TRUE(report.IsNews(0.5, At(0)));
  EXPECT_TRUE(report.IsNews(0.5, At(0)));
  report.OnSaid(0.5, At(0));
  EXPECT_FALSE(report.IsNews(0.5, At(0)));
}

TEST(LoadReport, LoadThatStaysIsSaidEverySecond) {
  LoadReport report;
  int said = 0;
  for (int ms = 0; ms < 10000; ms += 100) said += Says(report, 1, At(ms)) ? 1 : 0;
  EXPECT_EQ(said, 10);
}

TEST(LoadReport, IdleServerSaysSoOnce) {
  LoadReport report;
  report.OnSaid(1, At(0));
  EXPECT_TRUE(Says(report, 0.01, At(100)));
  EXPECT_FALSE(report.IsNews(0.01, At(100000)));
}

TEST(LoadReport, AfterAResponseIsLostAnyLoadIsNews) {
  LoadReport report;
  report.OnSaid(0, At(0));
  report.OnResponseLost();
  EXPECT_TRUE(Says(report, 0, At(100)));
  EXPECT_FALSE(report.IsNews(0, At(200)));
}

}  // namespace
}  // namespace verbena::rpc
