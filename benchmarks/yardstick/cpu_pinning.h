// The two cores that the two ends are pinned to, so that neither disturbs the other.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_CPU_PINNING_H_
#define VERBENA_BENCHMARKS_YARDSTICK_CPU_PINNING_H_

#include <sched.h>

namespace verbena::benchmarks {

struct CpuPair {
  int client = -1;  // -1: do not pin.
  int server = -1;
};

// The first two cores that this process may use; none if it has but one.
CpuPair ChooseCpus();

// Pins the calling thread while it lives, and restores where it was allowed to run before. A core that cannot be had is
// no error: the figures are noisier, that is all.
class PinnedThread {
 public:
  explicit PinnedThread(int cpu);  // -1: does nothing.
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;
  ~PinnedThread();

 private:
  cpu_set_t previous_mask_;
  bool pinned_ = false;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_CPU_PINNING_H_
