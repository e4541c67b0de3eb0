#include "benchmarks/yardstick/load.h"

#include <gtest/gtest.h>

namespace verbena::benchmarks {
namespace {

using std::chrono::milliseconds;

const LoadShape kShape = {.warm_up = absl::Milliseconds(10), .duration = absl::Milliseconds(100)};
constexpr LoadWindow::Clock::time_point kStart;

TEST(LoadWindow, CallsDoneBehindTheWarmUpAndBeforeTheEndCount) {
  const LoadWindow window(kShape, kStart);
  LatencyHistogram latencies;
  for (const int done_ms : {9, 10, 109, 110}) window.Count(kStart, kStart + milliseconds(done_ms), &latencies);
  EXPECT_EQ(latencies.count(), 2u);
}

TEST(LoadWindow, IsOverBehindWarmUpAndDuration) {
  const LoadWindow window(kShape, kStart);
  EXPECT_FALSE(window.IsOver(kStart + milliseconds(109)));
  EXPECT_TRUE(window.IsOver(kStart + milliseconds(110)));
}

TEST(LoadFigures, TheRateIsThatOfTheCallsThatCount) {
  LatencyHistogram latencies;
  for (int i = 0; i < 50; ++i) latencies.Add(1000);
  EXPECT_DOUBLE_EQ(LoadFigures(latencies, kShape).calls_per_second, 500);
}

}  // namespace
}  // namespace verbena::benchmarks
