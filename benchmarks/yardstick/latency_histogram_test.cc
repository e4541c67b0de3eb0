#include "benchmarks/yardstick/latency_histogram.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

TEST(LatencyHistogram, WithoutSamplesPercentilesAreZero) {
  EXPECT_EQ(LatencyHistogram().PercentileMicroseconds(50), 0);
}

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.Add(value);
  EXPECT_DOUBLE_EQ(histogram.PercentileMicroseconds(50), 0.050);
  EXPECT_DOUBLE_EQ(histogram.PercentileMicroseconds(99), 0.099);
  EXPECT_DOUBLE_EQ(histogram.PercentileMicroseconds(100), 0.100);
  EXPECT_EQ(histogram.count(), 100u);
}

TEST(LatencyHistogram, AnothersSamplesAreAdded) {
  LatencyHistogram some, others;
  some.Add(10);
  others.Add(20);
  others.Add(30);
  some.Add(others);
  EXPECT_EQ(some.count(), 3u);
  EXPECT_DOUBLE_EQ(some.PercentileMicroseconds(50), 0.020);
  EXPECT_DOUBLE_EQ(some.PercentileMicroseconds(100), 0.030);
}

TEST(LatencyHistogram, AnyValueIsWithinHalfAPercent) {
  for (double value = 1; value < 1e18; value *= 1.37) {
    LatencyHistogram histogram;
    histogram.Add(static_cast<uint64_t>(value));
    EXPECT_NEAR(histogram.PercentileMicroseconds(50) * 1000 / static_cast<uint64_t>(value), 1, 0.005) << value;
  }
}

TEST(LatencyHistogram, ExtremesHaveABucket) {
  LatencyHistogram histogram;
  histogram.Add(0);
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(histogram.PercentileMicroseconds(50), 0);
  EXPECT_GT(histogram.PercentileMicroseconds(100), 1e16);
}

TEST(LatencyHistogram, RareTailShowsInTheHighPercentile) {
  LatencyHistogram histogram;
  for (int i = 0; i < 980; ++i) histogram.Add(1000);
  for (int i = 0; i < 20; ++i) histogram.Add(1000000);
  EXPECT_NEAR(histogram.PercentileMicroseconds(50), 1, 0.01);
  EXPECT_NEAR(histogram.PercentileMicroseconds(99), 1000, 5);
}

}  // namespace
}  // namespace verbena::benchmarks
