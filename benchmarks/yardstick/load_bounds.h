// What a benchmark can be asked for: past these a measurement says nothing, or the machine's memory is at its end.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_LOAD_BOUNDS_H_
#define VERBENA_BENCHMARKS_YARDSTICK_LOAD_BOUNDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena::benchmarks {

// Threads that block, each in its own call: as a rule a system lets a process have so many.
inline constexpr size_t kCallersMax = 1024;

inline constexpr int64_t kPayloadBytesMax = int64_t{64} << 20;  // Of a message of Protobuf's; larger ones are attached.
inline constexpr int64_t kInFlightMax = 8192;
inline constexpr int64_t kConnectionsMax = 65536;

// InvalidArgument, naming the flag and its bounds.
absl::Status CheckBounds(absl::string_view flag, int64_t value, int64_t least, int64_t most);
// Of --seconds: more than 0, and a day at most.
absl::Status CheckSeconds(double seconds);
// Raw ends have room each for all that is in flight. InvalidArgument: that is more than this machine's memory.
absl::Status CheckMemory(uint64_t in_flight, uint64_t message_bytes);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_LOAD_BOUNDS_H_
