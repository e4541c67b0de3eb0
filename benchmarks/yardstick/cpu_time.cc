#include "benchmarks/yardstick/cpu_time.h"

#include <time.h>

namespace verbena::benchmarks {

double CpuSecondsOf(pid_t process) {
  clockid_t clock;
  timespec used = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace verbena::benchmarks
