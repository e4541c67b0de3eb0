// A closed loop: a fixed number of calls in flight, each started by the completion of the one before, all on the
// channel's event loop.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_CLOSED_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_CLOSED_LOAD_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// The channel must have one loop, with a thread of its own. Use: make one, Run, read the figures.
class ClosedLoad {
 public:
  ClosedLoad(std::shared_ptr<Channel> channel, const EchoShape& shape, size_t in_flight, const Span& span)
      : shape_(shape), in_flight_(in_flight), stub_(std::move(channel)), measurement_(span) {}
  ClosedLoad(const ClosedLoad&) = delete;
  ClosedLoad& operator=(const ClosedLoad&) = delete;

  // Makes the calls and blocks until all are complete. The error of the first call that failed.
  absl::StatusOr<CallFigures> Run();

 private:
  using Clock = Measurement::Clock;

  void Start(EchoCall* call, Clock::time_point now);
  void OnDone(EchoCall* call, absl::Status status);

  // Constant while the load runs.
  const EchoShape shape_;
  const size_t in_flight_;
  Bench::Stub stub_;
  std::vector<std::unique_ptr<EchoCall>> calls_;

  // The event loop's, from the first Start to the notification.
  Measurement measurement_;
  size_t active_ = 0;
  absl::Status failure_;

  absl::Notification all_done_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_CLOSED_LOAD_H_
