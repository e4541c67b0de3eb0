// Calls, and messages of a stream, by coroutines on the channel's event loop, which the calling thread drives
// meanwhile.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_COROUTINE_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_COROUTINE_LOAD_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// `loop` is the channel's (ChannelOptions::loop). Both block until the load is over. The error of what failed.

// So many coroutines, each of which makes one call after the other.
absl::StatusOr<CallFigures> RunCoroutineCalls(EventLoop& loop, std::shared_ptr<Channel> channel, const EchoShape& shape,
                                              size_t coroutines, const Span& span);

// Two coroutines and one stream, whose server sends each message back: one writes, one reads, so many on their way at a
// time. The figures are of messages, there and back.
absl::StatusOr<CallFigures> RunCoroutineStream(EventLoop& loop, std::shared_ptr<Channel> channel, size_t payload_bytes,
                                               size_t in_flight, const Span& span);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_COROUTINE_LOAD_H_
