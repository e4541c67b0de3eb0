// Unary calls of gRPC's synchronous API: so many threads, each of which makes one call after the other.
//
// Thread: blocks the caller's.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_BLOCKING_LOAD_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_BLOCKING_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {

// `shape.in_flight` threads share the channel. The error of a call that failed.
absl::StatusOr<LoadFigures> RunGrpcCallers(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);

// Messages of one stream, echoed, `shape.in_flight` of them on their way. The stream's error.
absl::StatusOr<LoadFigures> RunGrpcBlockingStream(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_BLOCKING_LOAD_H_
