// Blocking calls, one after the other, from one thread or from many.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_LOAD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// From the calling thread; with ChannelOptions::loop the one that drives the loop. The error of a call that failed.
absl::StatusOr<CallFigures> RunBlockingCalls(std::shared_ptr<Channel> channel, const EchoShape& shape,
                                             const Span& span);

// From so many threads, which share the channel and do not drive its loop.
absl::StatusOr<CallFigures> RunBlockingCallers(std::shared_ptr<Channel> channel, const EchoShape& shape, size_t threads,
                                               const Span& span);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_BLOCKING_LOAD_H_
