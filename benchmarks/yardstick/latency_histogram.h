// Latencies, counted: percentiles without keeping every sample, and without allocating while samples come in.
//
// Buckets are 1/256 of a power of two wide, so a percentile is at most 0.4 % off. Not thread-safe.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_LATENCY_HISTOGRAM_H_
#define VERBENA_BENCHMARKS_YARDSTICK_LATENCY_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbena::benchmarks {

class LatencyHistogram {
 public:
  LatencyHistogram() : buckets_(kBuckets) {}

  // So many samples of one latency.
  void Add(uint64_t nanoseconds, uint64_t count = 1) {
    buckets_[BucketOf(nanoseconds)] += count;
    count_ += count;
  }

  // All of another's samples.
  void Add(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  // The latency that `percent` (0 to 100) of the samples do not exceed, in microseconds; 0 without samples.
  double PercentileMicroseconds(double percent) const;

 private:
  static constexpr int kSubBucketBits = 8;
  static constexpr int kExponents = 64 - kSubBucketBits;
  static constexpr size_t kBuckets = static_cast<size_t>(kExponents + 1) << kSubBucketBits;

  static size_t BucketOf(uint64_t nanoseconds);
  static double MiddleOf(size_t bucket);  // Nanoseconds.

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_LATENCY_HISTOGRAM_H_
