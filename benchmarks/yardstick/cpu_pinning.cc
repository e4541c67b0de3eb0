#include "benchmarks/yardstick/cpu_pinning.h"

namespace verbena::benchmarks {

CpuPair ChooseCpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2) return {};
  CpuPair pair;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    if (pair.client >= 0) return {pair.client, cpu};
    pair.client = cpu;
  }
  return {};
}

PinnedThread::PinnedThread(int cpu) {
  if (cpu < 0 || sched_getaffinity(0, sizeof(previous_mask_), &previous_mask_) != 0) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  pinned_ = sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

PinnedThread::~PinnedThread() {
  if (pinned_) sched_setaffinity(0, sizeof(previous_mask_), &previous_mask_);
}

}  // namespace verbena::benchmarks
