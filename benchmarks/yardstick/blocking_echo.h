// Messages over a stream whose peer sends each of them back, by threads that block, whoever's stream it is: one writes
// while fewer than so many are on their way, one reads.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_BLOCKING_ECHO_H_
#define VERBENA_BENCHMARKS_YARDSTICK_BLOCKING_ECHO_H_

#include <chrono>
#include <cstddef>

#include "absl/functional/function_ref.h"

namespace verbena::benchmarks {

// Each blocks. False: the stream has ended.
struct BlockingEcho {
  absl::FunctionRef<bool()> write;
  absl::FunctionRef<bool()> read;
  absl::FunctionRef<void()> writes_done;
};

// Until the stream has ended: by itself, or because `count`, which is told of each message that is back, says that it
// is enough (true). With one on its way the calling thread writes and reads, in turn; else it reads.
void RunBlockingEcho(
    const BlockingEcho& stream, size_t in_flight,
    absl::FunctionRef<bool(std::chrono::steady_clock::time_point start, std::chrono::steady_clock::time_point now)>
        count);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_BLOCKING_ECHO_H_
