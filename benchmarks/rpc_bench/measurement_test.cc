#include "benchmarks/rpc_bench/measurement.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Measurement::Clock::time_point kBegin{std::chrono::seconds(1000)};

// 10 ms of warm-up, 100 ms of span.
Measurement Begun() {
  Measurement measurement({.warm_up = absl::Milliseconds(10), .duration = absl::Milliseconds(100)});
  measurement.Begin(kBegin);
  return measurement;
}

Measurement::Clock::time_point At(int ms) { return kBegin + milliseconds(ms); }

TEST(Measurement, WhatIsDoneWithinTheSpanCounts) {
  Measurement measurement = Begun();
  measurement.OnDone(At(1), At(2));     // Warm-up.
  measurement.OnDone(At(3), At(10));    // With it the span begins.
  measurement.OnDone(At(10), At(11));   // Counts.
  measurement.OnDone(At(50), At(53));   // Counts.
  measurement.OnDone(At(60), At(110));  // Counts; with it the span ends.
  EXPECT_TRUE(measurement.over());
  measurement.OnDone(At(100), At(112));
  const CallFigures figures = measurement.Figures();
  EXPECT_EQ(figures.calls, 3u);
  EXPECT_DOUBLE_EQ(figures.calls_per_second, 30);
  EXPECT_NEAR(figures.p50_us, 3000, 15);
  EXPECT_NEAR(figures.max_us, 50000, 250);
}

TEST(Measurement, WhatOthersMeasuredMeanwhileIsAdded) {
  Measurement first = Begun();
  Measurement second = Begun();
  for (Measurement* measurement : {&first, &second}) measurement->Advance(At(10));
  first.OnDone(At(20), At(22));
  second.OnDone(At(30), At(38));
  second.OnDone(At(50), At(58));
  for (Measurement* measurement : {&first, &second}) measurement->Advance(At(110));
  first.Add(second);
  const CallFigures figures = first.Figures();
  EXPECT_EQ(figures.calls, 3u);
  EXPECT_DOUBLE_EQ(figures.calls_per_second, 30);
  EXPECT_NEAR(figures.p50_us, 8000, 40);
}

TEST(Measurement, WhatPassedInNumbersCountsWithoutLatency) {
  Measurement measurement = Begun();
  measurement.OnManyDone(64, At(10));  // Warm-up; with it the span begins.
  measurement.OnManyDone(64, At(50));
  measurement.OnManyDone(36, At(110));  // With it the span ends.
  EXPECT_TRUE(measurement.over());
  measurement.OnManyDone(64, At(111));
  const CallFigures figures = measurement.Figures();
  EXPECT_EQ(figures.calls, 100u);
  EXPECT_DOUBLE_EQ(figures.calls_per_second, 1000);
  EXPECT_EQ(figures.max_us, 0);
}

TEST(Measurement, WhatWasDueWithinTheSpanHasItsWholeLatencyHoweverLate) {
  Measurement measurement = Begun();
  measurement.Advance(At(10));
  measurement.OnDueDone(At(5), At(20));     // Not due within the span, but done in it.
  measurement.OnDueDone(At(100), At(300));  // The other way round.
  measurement.Advance(At(301));
  const CallFigures figures = measurement.Figures();
  EXPECT_EQ(figures.calls, 2u);
  EXPECT_NEAR(figures.p50_us, 200000, 1000);
}

TEST(Measurement, WhatWasNotStartedHasWaitedToTheEndOfTheSpan) {
  Measurement measurement = Begun();
  measurement.Advance(At(10));
  measurement.OnDueDone(At(20), At(20) + microseconds(5));
  measurement.Advance(At(110));
  measurement.OnNotStarted(At(30));
  measurement.OnNotStarted(At(120));  // After the span.
  const CallFigures figures = measurement.Figures();
  EXPECT_EQ(figures.calls, 1u);
  EXPECT_NEAR(figures.p50_us, 5, 0.1);
  EXPECT_NEAR(figures.max_us, 80000, 400);
}

TEST(Measurement, GivenUpItHasNoFigures) {
  Measurement measurement = Begun();
  measurement.GiveUp();
  EXPECT_TRUE(measurement.over());
  EXPECT_EQ(measurement.Figures().calls_per_second, 0);
}

}  // namespace
}  // namespace verbena::benchmarks
