// Calls, so many in flight, each made again when it is done: what is asked for, when a call counts, and what came out.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_LOAD_H_
#define VERBENA_BENCHMARKS_YARDSTICK_LOAD_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "benchmarks/yardstick/cpu_span.h"
#include "benchmarks/yardstick/latency_histogram.h"

namespace verbena::benchmarks {

// Not measured before a measurement of `duration`: connecting may go on meanwhile, and memory is touched for the first
// time.
inline absl::Duration WarmUpFor(absl::Duration duration) { return std::max(duration / 10, absl::Milliseconds(200)); }

struct LoadShape {
  size_t payload_bytes = 64;  // In the request, and in the reply.
  size_t in_flight = 1;       // Over all connections.
  size_t connections = 1;     // Each is used in its turn.
  bool streaming = false;     // Messages of one stream, echoed, instead of calls.
  absl::Duration warm_up;     // Not measured.
  absl::Duration duration;
  CpuSpan* cpu = nullptr;  // That watches what is measured, if anybody asks.
};

struct LoadFigures {
  // All calls that were counted, as `shape` had them made.
  LoadFigures(LatencyHistogram latencies, const LoadShape& shape)
      : latencies(std::move(latencies)),
        calls_per_second(static_cast<double>(this->latencies.count()) / absl::ToDoubleSeconds(shape.duration)) {}

  LatencyHistogram latencies;
  double calls_per_second;
};

// Where messages go one way, which very many do: one reading of the clock for so many of them, or so many bytes.
constexpr uint64_t MessagesForEachLook(uint64_t message_bytes) {
  return std::min<uint64_t>(64, 1 + (uint64_t{1} << 20) / (1 + message_bytes));
}

// Counted are the calls that are done behind the warm-up, for the duration. Constant: any thread may ask.
class LoadWindow {
 public:
  using Clock = std::chrono::steady_clock;

  LoadWindow(const LoadShape& shape, Clock::time_point start)
      : from_(start + absl::ToChronoNanoseconds(shape.warm_up)),
        to_(from_ + absl::ToChronoNanoseconds(shape.duration)) {
    if (shape.cpu != nullptr) shape.cpu->Watch(from_, to_);
  }

  // Adds the call that began at `start` and is done `now` to `latencies` if it counts; or so many, which are done by
  // now and took as long together.
  void Count(Clock::time_point start, Clock::time_point now, LatencyHistogram* latencies, uint64_t calls = 1) const {
    if (now >= from_ && now < to_) latencies->Add(static_cast<uint64_t>((now - start).count()) / calls, calls);
  }
  bool IsOver(Clock::time_point now) const { return now >= to_; }

 private:
  Clock::time_point from_;
  Clock::time_point to_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_LOAD_H_
