// What is measured in one round, of whatever load: the latencies and the number of what was done between the end of the
// warm-up and the end of the span, and what that cost.
//
// Owner: a load. Thread: the one on which the load's completions run.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_MEASUREMENT_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_MEASUREMENT_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "absl/time/time.h"
#include "benchmarks/rpc_bench/report.h"
#include "benchmarks/yardstick/latency_histogram.h"

namespace verbena::benchmarks {

struct Span {
  absl::Duration warm_up;  // Not measured.
  absl::Duration duration;
  pid_t server = 0;  // Whose processor time is counted beside that of this process.
};

class Measurement {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Measurement(const Span& span) : span_(span) {}

  void Begin(Clock::time_point now);
  // The span has ended, or was given up: nothing is to be started any more.
  bool over() const { return phase_ == Phase::kOver; }
  // Time has passed. With each completion at least.
  void Advance(Clock::time_point now);
  // Something was done that was started at `start`. Counts if it ends within the span.
  void OnDone(Clock::time_point start, Clock::time_point now);
  // The same of something that was due at `due`, whenever it was started: its latency counts if it was due within the
  // span, however late it ends.
  void OnDueDone(Clock::time_point due, Clock::time_point now);
  // So many were done of which nobody can tell how long they took. They have no latency.
  void OnManyDone(uint64_t count, Clock::time_point now);
  // Before the end of the span.
  bool IsDueYet(Clock::time_point due) const { return due < to_; }
  // Something that was due at `due` was not even started when the span ended: it has waited so long at least.
  void OnNotStarted(Clock::time_point due);
  void GiveUp() { phase_ = Phase::kOver; }
  // What another one, which began at the same time, measured on a thread of its own.
  void Add(const Measurement& other);

  // After the span.
  CallFigures Figures() const;

 private:
  // What the processes had used and counted at one moment.
  struct Totals {
    Clock::time_point when;
    uint64_t doorbells = 0;
    uint64_t allocations = 0;
    double client_cpu_seconds = 0;
    double server_cpu_seconds = 0;
  };

  enum class Phase {
    kWarmUp,     // Until from_.
    kMeasuring,  // Until to_.
    kOver,
  };

  Totals ReadTotals(Clock::time_point now) const;
  void AddLatency(Clock::time_point start, Clock::time_point now) {
    latencies_.Add(static_cast<uint64_t>((now - start).count()));
  }

  const Span span_;
  Clock::time_point from_;
  Clock::time_point to_;
  Phase phase_ = Phase::kWarmUp;
  uint64_t done_ = 0;
  LatencyHistogram latencies_;
  Totals totals_from_;
  Totals totals_to_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_MEASUREMENT_H_
