// One call of Echo, used again and again: a call itself should cost nothing but the call.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ECHO_CALL_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ECHO_CALL_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/client_context.h"

namespace verbena::benchmarks {

struct EchoShape {
  size_t payload_bytes = 64;    // In the request, and in the reply.
  size_t attachment_bytes = 0;  // Beside the request, in memory from AllocatePayload; each call has its own.
};

// In memory from AllocatePayload; empty for none. ResourceExhausted: no memory.
absl::StatusOr<absl::Cord> MakeAttachment(size_t bytes);

// Owner: a load. Thread: one.
struct EchoCall {
  // ResourceExhausted: no memory for the attachment.
  static absl::StatusOr<std::unique_ptr<EchoCall>> Create(const EchoShape& shape);
  static absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> CreateMany(const EchoShape& shape, size_t count);

  // Makes ready for the next use, which counts from `from`.
  void Renew(std::chrono::steady_clock::time_point from);

  ClientContext context;
  Bytes request;
  Bytes reply;
  absl::Cord attachment;
  std::chrono::steady_clock::time_point start;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ECHO_CALL_H_
