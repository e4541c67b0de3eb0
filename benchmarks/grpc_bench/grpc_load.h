// Unary calls of gRPC's callback API, so many in flight, each made again when it is done.
//
// gRPC runs completions on threads of its own, several at once: each call in flight counts for itself.
//
// Owner: who measures. Thread: Run blocks its caller's.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {

class GrpcLoad {
 public:
  // A channel for each connection, used in turn.
  GrpcLoad(std::vector<std::shared_ptr<grpc::Channel>> channels, const LoadShape& shape);
  GrpcLoad(const GrpcLoad&) = delete;
  GrpcLoad& operator=(const GrpcLoad&) = delete;
  ~GrpcLoad();

  // Makes the calls and blocks until all are complete. The error of a call that failed.
  absl::StatusOr<LoadFigures> Run();

 private:
  using Clock = LoadWindow::Clock;
  struct Call;

  void Start(Call* call, Clock::time_point now);
  void OnDone(Call* call, const grpc::Status& status);

  // Constant while the load runs.
  const LoadShape shape_;
  std::vector<std::unique_ptr<Bench::Stub>> stubs_;
  std::atomic<size_t> next_ = 0;      // Of stubs_, modulo their number.
  std::optional<LoadWindow> window_;  // From Run's beginning.
  std::vector<std::unique_ptr<Call>> calls_;
  absl::BlockingCounter active_;

  std::mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_LOAD_H_
