// Asynchronous calls that a thread issues which is not the loop's: so a program calls that has threads of its own.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ISSUED_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ISSUED_LOAD_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// From the calling thread, `in_flight` at a time, each again when it is done and its turn has come. Their completions
// run on the channel's loop, which has a thread of its own. A latency ends with the completion. The error of a call
// that failed.
absl::StatusOr<CallFigures> RunIssuedCalls(std::shared_ptr<Channel> channel, const EchoShape& shape, size_t in_flight,
                                           const Span& span);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ISSUED_LOAD_H_
