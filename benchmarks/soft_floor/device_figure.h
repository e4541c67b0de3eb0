// One figure of the software device, between two processes pinned to a core each.
//
// The device reads its settings (which wire, which way of one-sided access) once from the environment, so each figure
// is taken by a process of its own: MeasureInOwnProcess runs this program again, that process calls Measure, which runs
// the program a third time for the other end, which calls Serve.

#ifndef VERBENA_BENCHMARKS_SOFT_FLOOR_DEVICE_FIGURE_H_
#define VERBENA_BENCHMARKS_SOFT_FLOOR_DEVICE_FIGURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/event_loop.h"

namespace verbena::benchmarks {

struct DeviceFigure {
  enum class Kind {
    kPingPong,    // 64 bytes there and back, one at a time: median in microseconds.
    kPipelined,   // The same with 32 on their way: answers per second.
    kReadStream,  // READs of 1 MiB: 10^9 bytes per second.
    kDeath,       // kill -9 of the other end, until every connection has said DISCONNECTED: milliseconds.
    kIdle,        // Processor time of a process that waits: percent of a core.
  };

  Kind kind = Kind::kPingPong;
  transport::WaitPolicy wait = transport::WaitPolicy::kBusy;
  uint32_t idle_pairs = 0;  // Connections beside the measured one, on the same completion queue.
};

// READs of the stream walk through this many areas of 1 MiB.
inline constexpr uint32_t kReadAreas = 4;
inline constexpr uint32_t kReadBytes = 1 << 20;

// "ping_pong" and so on, and back. False: no such kind.
std::string KindName(DeviceFigure::Kind kind);
bool ParseKind(const std::string& name, DeviceFigure::Kind* kind);

// `environment`: "NAME=value".
absl::StatusOr<double> MeasureInOwnProcess(const DeviceFigure& figure, absl::Duration duration,
                                           const std::vector<std::string>& environment);

absl::StatusOr<double> Measure(const DeviceFigure& figure, absl::Duration duration);
absl::Status Serve(const DeviceFigure& figure);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_SOFT_FLOOR_DEVICE_FIGURE_H_
