// For tests, in a process of their own (EXPECT_EXIT): a system that has no more than a few threads left.

#ifndef VERBENA_TESTS_FEW_THREADS_FEW_THREADS_H_
#define VERBENA_TESTS_FEW_THREADS_FEW_THREADS_H_

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace verbena {

// The sanitizers map memory of their own for each thread, and end the process where there is none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kThreadsCanBeFew = false;
#else
constexpr bool kThreadsCanBeFew = true;
#endif

// From here on this process has address space for the stacks of a few more threads, of 8 MiB each.
inline void LeaveFewThreads() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit addresses;
  if (getrlimit(RLIMIT_AS, &addresses) != 0) _exit(1);
  addresses.rlim_cur = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (uint64_t{64} << 20);
  if (setrlimit(RLIMIT_AS, &addresses) != 0) _exit(1);
}

}  // namespace verbena

#endif  // VERBENA_TESTS_FEW_THREADS_FEW_THREADS_H_
