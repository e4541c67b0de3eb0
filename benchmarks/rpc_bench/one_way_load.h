// Messages over one stream that go one way, as many as its window lets: the client writes them and the server drops
// them, or the server writes them until the client has gone. What counts is what the client has written or read; no
// message has a latency, since nothing answers it.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_LOAD_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

enum class Sender { kClient, kServer };

struct OneWayShape {
  Sender sender = Sender::kClient;
  size_t payload_bytes = 64;
  size_t attachment_bytes = 0;  // Beside each message, in memory from AllocatePayload.
};

// Each blocks until the stream has ended. The stream's error; ResourceExhausted: no memory for the attachments.

// A reactor on the channel's loop, which has a thread of its own.
absl::StatusOr<CallFigures> RunOneWayReactor(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                             const Span& span);
// The calling thread, which blocks in each read or write, beside the loop's.
absl::StatusOr<CallFigures> RunBlockingOneWay(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                              const Span& span);
// A coroutine of the calling thread, which drives `loop`, the channel's.
absl::StatusOr<CallFigures> RunCoroutineOneWay(EventLoop& loop, std::shared_ptr<Channel> channel,
                                               const OneWayShape& shape, const Span& span);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_LOAD_H_
