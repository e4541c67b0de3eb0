#include "benchmarks/rpc_bench/measurement.h"

#include "benchmarks/yardstick/cpu_time.h"
#include "rpc/options.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::benchmarks {

void Measurement::Begin(Clock::time_point now) {
  from_ = now + absl::ToChronoNanoseconds(span_.warm_up);
  to_ = from_ + absl::ToChronoNanoseconds(span_.duration);
}

void Measurement::Advance(Clock::time_point now) {
  if (phase_ == Phase::kWarmUp && now >= from_) {
    phase_ = Phase::kMeasuring;
    totals_from_ = ReadTotals(now);
  } else if (phase_ == Phase::kMeasuring && now >= to_) {
    phase_ = Phase::kOver;
    totals_to_ = ReadTotals(now);
  }
}

void Measurement::OnDone(Clock::time_point start, Clock::time_point now) {
  if (phase_ == Phase::kMeasuring) {
    AddLatency(start, now);
    ++done_;
  }
  Advance(now);
}

void Measurement::OnDueDone(Clock::time_point due, Clock::time_point now) {
  if (due >= from_ && due < to_) AddLatency(due, now);
  if (phase_ == Phase::kMeasuring) ++done_;
  Advance(now);
}

void Measurement::OnManyDone(uint64_t count, Clock::time_point now) {
  if (phase_ == Phase::kMeasuring) done_ += count;
  Advance(now);
}

void Measurement::OnNotStarted(Clock::time_point due) {
  if (due >= from_ && due < to_) AddLatency(due, to_);
}

void Measurement::Add(const Measurement& other) {
  done_ += other.done_;
  latencies_.Add(other.latencies_);
}

Measurement::Totals Measurement::ReadTotals(Clock::time_point now) const {
  return {.when = now,
          .doorbells = ReadTransportCounters().doorbells,
          .allocations = testing::AllocationCount(),
          .client_cpu_seconds = CpuSecondsOf(0),
          .server_cpu_seconds = span_.server == 0 ? 0 : CpuSecondsOf(span_.server)};
}

CallFigures Measurement::Figures() const {
  const auto calls = static_cast<double>(done_);
  const double seconds = std::chrono::duration<double>(totals_to_.when - totals_from_.when).count();
  const auto for_each = [calls](double total) { return calls > 0 ? total / calls : 0; };
  return {.calls = done_,
          .p50_us = latencies_.PercentileMicroseconds(50),
          .p90_us = latencies_.PercentileMicroseconds(90),
          .p99_us = latencies_.PercentileMicroseconds(99),
          .p999_us = latencies_.PercentileMicroseconds(99.9),
          .p9999_us = latencies_.PercentileMicroseconds(99.99),
          .max_us = latencies_.PercentileMicroseconds(100),
          .calls_per_second = seconds > 0 ? calls / seconds : 0,
          .doorbells_per_call = for_each(static_cast<double>(totals_to_.doorbells - totals_from_.doorbells)),
          .allocations_per_call = for_each(static_cast<double>(totals_to_.allocations - totals_from_.allocations)),
          .client_cpu_us_per_call = for_each((totals_to_.client_cpu_seconds - totals_from_.client_cpu_seconds) * 1e6),
          .server_cpu_us_per_call = for_each((totals_to_.server_cpu_seconds - totals_from_.server_cpu_seconds) * 1e6)};
}

}  // namespace verbena::benchmarks
