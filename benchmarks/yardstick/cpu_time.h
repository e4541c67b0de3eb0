// Processor time that a process has used, all its threads together.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_CPU_TIME_H_
#define VERBENA_BENCHMARKS_YARDSTICK_CPU_TIME_H_

#include <sys/types.h>

namespace verbena::benchmarks {

// In seconds. 0: this process. What is not there has used none.
double CpuSecondsOf(pid_t process);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_CPU_TIME_H_
