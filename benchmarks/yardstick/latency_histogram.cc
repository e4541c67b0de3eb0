#include "benchmarks/yardstick/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace verbena::benchmarks {

// Below 2^kSubBucketBits a bucket for each value; from there on 2^kSubBucketBits buckets for each power of two.
size_t LatencyHistogram::BucketOf(uint64_t nanoseconds) {
  const int exponent = std::max(0, static_cast<int>(std::bit_width(nanoseconds)) - kSubBucketBits - 1);
  const uint64_t mantissa = nanoseconds >> exponent;
  return (static_cast<size_t>(exponent) << kSubBucketBits) + mantissa;
}

double LatencyHistogram::MiddleOf(size_t bucket) {
  const size_t per_power = size_t{1} << kSubBucketBits;
  if (bucket < 2 * per_power) return static_cast<double>(bucket);
  const int exponent = static_cast<int>(bucket >> kSubBucketBits) - 1;
  const double mantissa = static_cast<double>((bucket & (per_power - 1)) + per_power);
  return std::ldexp(mantissa + 0.5, exponent);
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) buckets_[bucket] += other.buckets_[bucket];
  count_ += other.count_;
}

double LatencyHistogram::PercentileMicroseconds(double percent) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= std::max<uint64_t>(rank, 1)) return MiddleOf(bucket) / 1000;
  }
  return MiddleOf(buckets_.size() - 1) / 1000;
}

}  // namespace verbena::benchmarks
