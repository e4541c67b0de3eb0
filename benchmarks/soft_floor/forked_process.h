// The other end of a floor's measurement: a function in a forked child.

#ifndef VERBENA_BENCHMARKS_SOFT_FLOOR_FORKED_PROCESS_H_
#define VERBENA_BENCHMARKS_SOFT_FLOOR_FORKED_PROCESS_H_

#include <sys/types.h>

#include <functional>

#include "absl/status/statusor.h"

namespace verbena::benchmarks {

// Owner: the caller; the child is killed with it, and with this process.
class ForkedProcess {
 public:
  // Runs `body` in a child that is pinned to `cpu` (-1: anywhere).
  static absl::StatusOr<ForkedProcess> Run(int cpu, const std::function<void()>& body);
  ForkedProcess(ForkedProcess&& other) noexcept;
  ForkedProcess& operator=(ForkedProcess&&) = delete;
  ~ForkedProcess();

  pid_t pid() const { return pid_; }

 private:
  explicit ForkedProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // -1: moved from.
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_SOFT_FLOOR_FORKED_PROCESS_H_
