// What the machine itself can do: the floors that the software device is measured against. Nothing here knows of verbs.
//
// Each measurement forks; call them from a process with one thread. The two ends are pinned to a core each. Round trips
// are medians in microseconds, of messages of 64 bytes.

#ifndef VERBENA_BENCHMARKS_SOFT_FLOOR_PHYSICAL_FLOORS_H_
#define VERBENA_BENCHMARKS_SOFT_FLOOR_PHYSICAL_FLOORS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmarks/yardstick/cpu_pinning.h"

namespace verbena::benchmarks {

// Round trips of spinning ends within a host are not much longer than a look at the clock: measured so many at a time.
inline constexpr int kSpinningBatch = 100;

// A flag in a cache line of shared memory there, another one back; both ends spin.
absl::StatusOr<double> FlagRoundTrip(const CpuPair& cpus, absl::Duration duration);

enum class Waiting {
  kSpinning,  // Non-blocking reads until there is something.
  kSleeping,  // Blocking reads.
};

// A stream socket between two processes of this host.
absl::StatusOr<double> UnixRoundTrip(const CpuPair& cpus, Waiting waiting, absl::Duration duration);
// TCP over loopback, without delay.
absl::StatusOr<double> TcpRoundTrip(const CpuPair& cpus, Waiting waiting, absl::Duration duration);

// process_vm_readv of `bytes` from each of `areas` places of another process in turn: 10^9 bytes per second.
absl::StatusOr<double> ReadvBandwidth(const CpuPair& cpus, size_t bytes, size_t areas, absl::Duration duration);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_SOFT_FLOOR_PHYSICAL_FLOORS_H_
