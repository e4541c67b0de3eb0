// gRPC's status as ours: the codes are the same numbers.

#ifndef VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STATUS_H_
#define VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace verbena::benchmarks {

inline absl::Status StatusOf(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_GRPC_BENCH_GRPC_STATUS_H_
