// Messages over one bidirectional stream of gRPC's callback API, which the server echoes: so many on their way at a
// time, each followed by another when it has returned.
//
// Owner: who measures. Thread: Run blocks its caller's; reads and writes complete on gRPC's threads, both at once.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STREAM_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STREAM_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <queue>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {

class GrpcStreamLoad final : public grpc::ClientBidiReactor<Bytes, Bytes> {
 public:
  GrpcStreamLoad(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);

  // Blocks until the stream has ended. The figures are of messages, there and back; the stream's error. Once.
  absl::StatusOr<LoadFigures> Run();

 private:
  using Clock = LoadWindow::Clock;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // If no write is under way: the next message, or the end of the writes.
  void WriteNext(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant while the load runs.
  const LoadShape shape_;
  const std::unique_ptr<Bench::Stub> stub_;
  const LoadWindow window_;
  grpc::ClientContext context_;
  Bytes request_;

  Bytes reply_;                 // The read's.
  LatencyHistogram latencies_;  // The same.

  std::mutex mu_;
  std::queue<Clock::time_point> starts_ ABSL_GUARDED_BY(mu_);  // Of the messages on their way, oldest first.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;

  grpc::Status status_;
  absl::Notification ended_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STREAM_LOAD_H_
