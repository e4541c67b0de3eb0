// An open loop: so many calls a second, each started at its instant whatever became of the others, and its latency
// counted from there. On the thread that drives the channel's loop.
//
// At most so many are in flight. A call that is due past that waits for one of them to end and keeps its instant: it is
// late. What is still waiting when the span ends is not started any more: it counts in the latencies with the time that
// it has waited.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_OPEN_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_OPEN_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "benchmarks/yardstick/open_schedule.h"
#include "rpc/channel.h"
#include "rpc/options.h"

namespace verbena::benchmarks {

class OpenLoad {
 public:
  // `loop` is the channel's (ChannelOptions::loop), and never sleeps: a call is started in the turn that finds it due.
  OpenLoad(EventLoop* loop, std::shared_ptr<Channel> channel, const EchoShape& shape, double calls_per_second,
           size_t in_flight_max, const Span& span)
      : loop_(loop),
        shape_(shape),
        calls_per_second_(calls_per_second),
        in_flight_max_(in_flight_max),
        stub_(std::move(channel)),
        measurement_(span) {}
  OpenLoad(const OpenLoad&) = delete;
  OpenLoad& operator=(const OpenLoad&) = delete;

  // Drives the loop until the span is over and every call that was started is complete. The error of the first call
  // that failed.
  absl::StatusOr<CallFigures> Run();

 private:
  using Clock = Measurement::Clock;

  void StartDue(OpenSchedule& schedule);
  void OnDone(EchoCall* call, absl::Status status);

  // Constant while the load runs.
  EventLoop* const loop_;
  const EchoShape shape_;
  const double calls_per_second_;
  const size_t in_flight_max_;
  Bench::Stub stub_;
  std::vector<std::unique_ptr<EchoCall>> calls_;

  // The driving thread's.
  std::vector<EchoCall*> free_;
  Clock::time_point last_full_;  // When a call was last found due with in_flight_max_ others in flight.
  uint64_t late_ = 0;
  Measurement measurement_;
  absl::Status failure_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_OPEN_LOAD_H_
