// The yardstick: what the same device does when the verbs are used directly.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_LOAD_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_LOAD_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmarks/yardstick/latency_histogram.h"
#include "benchmarks/yardstick/raw_end.h"

namespace verbena::benchmarks {

// Client: sends a message, waits for the answer, and so on, for `duration`. The times of the round trips; with a
// `batch`, the mean times of so many in a row: a look at the clock takes a good part of the shortest ones.
absl::StatusOr<LatencyHistogram> RunPingPong(RawEnd& end, absl::Duration duration, int batch = 1);

// Client: the same with `in_flight` messages on their way, each answer followed by the next one. Round trips per
// second. The shape needs `in_flight` receives and one more, at both ends, and as many sends.
absl::StatusOr<double> RunPipelined(RawEnd& end, uint32_t in_flight, absl::Duration duration);

// Client: tells the server to return from ServePingPong.
absl::Status EndPingPong(RawEnd& end);

// Client: RDMA READs of the message size from the peer's ring, as many in flight as the ring has areas, for `duration`.
// 10^9 bytes per second.
absl::StatusOr<double> RunReadStream(RawEnd& end, absl::Duration duration);

// Server: answers each message with one, until EndPingPong. READs need nothing of it.
absl::Status ServePingPong(RawEnd& end);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_LOAD_H_
