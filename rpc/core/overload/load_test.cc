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

TEST(LoadReport, OnlyANoticeableChangeIsNews) {
  LoadReport report;
  EXPECT_FALSE(report.IsNews(0.04));
  EXPECT_TRUE(report.IsNews(0.06));
  EXPECT_FALSE(report.IsNews(0.1));
  EXPECT_TRUE(report.IsNews(0.12));
  EXPECT_TRUE(report.IsNews(0));
}

}  // namespace
}  // namespace verbena::rpc
