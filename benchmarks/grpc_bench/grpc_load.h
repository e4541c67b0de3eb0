// Unary calls of gRPC's callback API, so many in flight, each made again when it is done.
//
// gRPC runs completions on threads of its own, several at once: each call in flight counts for itself.
//
// Owner: who measures. Thread: Run blocks its caller's.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/latency_histogram.h"

namespace verbena::benchmarks {

struct GrpcLoadShape {
  size_t payload_bytes = 64;  // In the request, and in the reply.
  size_t in_flight = 1;
  absl::Duration warm_up;  // Not measured.
  absl::Duration duration;
};

struct GrpcFigures {
  LatencyHistogram latencies;
  double calls_per_second = 0;
};

class GrpcLoad {
 public:
  GrpcLoad(std::shared_ptr<grpc::Channel> channel, const GrpcLoadShape& shape);
  GrpcLoad(const GrpcLoad&) = delete;
  GrpcLoad& operator=(const GrpcLoad&) = delete;
  ~GrpcLoad();

  // Makes the calls and blocks until all are complete. The error of a call that failed.
  absl::StatusOr<GrpcFigures> Run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Call;

  void Start(Call* call, Clock::time_point now);
  void OnDone(Call* call, const grpc::Status& status);

  // Constant while the load runs.
  const GrpcLoadShape shape_;
  const std::unique_ptr<Bench::Stub> stub_;
  Clock::time_point measure_from_;
  Clock::time_point measure_to_;
  std::vector<std::unique_ptr<Call>> calls_;
  absl::BlockingCounter active_;

  std::mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_
