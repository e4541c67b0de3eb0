// Messages over one bidirectional stream whose server sends each of them back, by threads that block: one writes while
// fewer than so many are on their way, one reads.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_STREAM_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_STREAM_LOAD_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// Blocks until the stream has ended. With one on its way the calling thread writes and reads, in turn. The figures are
// of messages, there and back; the stream's error.
absl::StatusOr<CallFigures> RunBlockingStream(std::shared_ptr<Channel> channel, size_t payload_bytes, size_t in_flight,
                                              const Span& span);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_STREAM_LOAD_H_
