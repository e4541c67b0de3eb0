// Messages over one stream of gRPC's that go one way, as many as its flow control lets: the client writes them and the
// server drops them, or the server writes them until the client has gone. What counts is what the client has written or
// read; what stands for latencies is the time between two, since nothing answers them.
//
// Thread: blocks the caller's.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_ONE_WAY_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_ONE_WAY_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {

// Each: the stream's error.

// By the callback API.
absl::StatusOr<LoadFigures> RunGrpcWriter(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);
absl::StatusOr<LoadFigures> RunGrpcReader(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);
// By the synchronous API.
absl::StatusOr<LoadFigures> RunGrpcBlockingWriter(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);
absl::StatusOr<LoadFigures> RunGrpcBlockingReader(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);

// The server's: each deletes itself.
class TakingReactor final : public grpc::ServerReadReactor<Bytes> {
 public:
  TakingReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartRead(&message_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

  Bytes message_;
};

// Sends what was asked for, until the caller has gone.
class SendingReactor final : public grpc::ServerWriteReactor<Bytes> {
 public:
  explicit SendingReactor(const Bytes& message) : message_(message) { StartWrite(&message_); }

 private:
  void OnWriteDone(bool ok) override { ok ? StartWrite(&message_) : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

  const Bytes message_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_ONE_WAY_LOAD_H_
