// An open loop of gRPC's unary calls, as rpc_bench/open_load.h has of ours: so many a second, each started at its
// instant whatever became of the others, and its latency counted from there; at most so many in flight.
//
// gRPC has threads of its own, which share the cores with the one that starts the calls: that yields while none is due.
//
// Owner: who measures. Thread: Run blocks its caller's.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_OPEN_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_OPEN_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/load.h"
#include "benchmarks/yardstick/open_schedule.h"

namespace verbena::benchmarks {

class GrpcOpenLoad {
 public:
  // `shape.in_flight` is the most that there are at once.
  GrpcOpenLoad(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape, double calls_per_second);
  GrpcOpenLoad(const GrpcOpenLoad&) = delete;
  GrpcOpenLoad& operator=(const GrpcOpenLoad&) = delete;
  ~GrpcOpenLoad();

  // Blocks until the span is over and every call that was started is complete. What was due and is not started by then
  // counts in the latencies with the time that it has waited, and not in the rate. The error of a call that failed.
  absl::StatusOr<LoadFigures> Run();

 private:
  using Clock = LoadWindow::Clock;
  struct Call;

  void StartWhenDue(OpenSchedule& schedule);
  Call* TakeFree();  // Null: all are in flight.
  void OnDone(Call* call, const grpc::Status& status);

  // Constant while the load runs.
  const LoadShape shape_;
  const double calls_per_second_;
  const std::unique_ptr<Bench::Stub> stub_;
  std::optional<LoadWindow> window_;  // From Run's beginning.
  std::vector<std::unique_ptr<Call>> calls_;

  std::mutex mu_;
  std::vector<Call*> free_ ABSL_GUARDED_BY(mu_);
  LatencyHistogram latencies_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_OPEN_LOAD_H_
