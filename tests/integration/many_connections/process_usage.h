// What a process takes of the kernel at this moment.

#ifndef VERBENA_TESTS_INTEGRATION_MANY_CONNECTIONS_PROCESS_USAGE_H_
#define VERBENA_TESTS_INTEGRATION_MANY_CONNECTIONS_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>

namespace verbena::probe {

struct ProcessUsage {
  int64_t mappings = 0;        // Of memory, which vm.max_map_count limits.
  int64_t pair_mappings = 0;   // Among them the software device's, of memory between two queue pairs.
  int64_t descriptors = 0;     // Open files, which RLIMIT_NOFILE limits.
  int64_t resident_bytes = 0;  // Memory that is present, shared memory too.
  int64_t shared_bytes = 0;    // Of that, what others may map or what is of files.
};

// All zero if the process has ended, or is another user's.
ProcessUsage UsageOf(pid_t process);

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_MANY_CONNECTIONS_PROCESS_USAGE_H_
