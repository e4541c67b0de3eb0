// The calls that are measured: a fixed number in flight, each started by the completion of the one before, all on the
// channel's event loop.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_RPC_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_RPC_LOAD_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/report.h"
#include "benchmarks/yardstick/latency_histogram.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

struct RpcLoadShape {
  size_t payload_bytes = 64;    // In the request, and in the reply.
  size_t attachment_bytes = 0;  // Beside the request, in memory from AllocatePayload; each call in flight has its own.
  size_t in_flight = 1;
  absl::Duration warm_up;  // Not measured.
  absl::Duration duration;
};

// The channel must have one loop. Use: make one, Run, read the figures.
class RpcLoad {
 public:
  RpcLoad(std::shared_ptr<Channel> channel, const RpcLoadShape& shape);
  RpcLoad(const RpcLoad&) = delete;
  RpcLoad& operator=(const RpcLoad&) = delete;
  ~RpcLoad();

  // Makes the calls and blocks until all are complete. The error of the first call that failed.
  absl::StatusOr<CallFigures> Run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Call;

  // What the process had counted at one moment.
  struct Totals {
    uint64_t doorbells = 0;
    uint64_t allocations = 0;
    static Totals Read();
  };

  enum class Phase {
    kWarmUp,     // Until measure_from_.
    kMeasuring,  // Until measure_to_.
    kDraining,   // No call is started any more; ends with the last completion.
  };

  absl::Status MakeCalls();
  void Start(Call* call, Clock::time_point now);
  void OnDone(Call* call, absl::Status status);
  void AdvancePhase(Clock::time_point now);
  void OnAllDone();
  CallFigures Figures() const;

  // Constant while the load runs.
  const std::shared_ptr<Channel> channel_;
  const RpcLoadShape shape_;
  Bench::Stub stub_;
  Clock::time_point measure_from_;
  Clock::time_point measure_to_;

  // The event loop's, from the first Start to OnAllDone.
  std::vector<std::unique_ptr<Call>> calls_;
  Phase phase_ = Phase::kWarmUp;
  size_t active_ = 0;
  LatencyHistogram histogram_;
  Clock::time_point measured_from_;
  Clock::time_point measured_to_;
  Totals totals_from_;
  Totals totals_to_;
  absl::Status failure_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool all_done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_RPC_LOAD_H_
