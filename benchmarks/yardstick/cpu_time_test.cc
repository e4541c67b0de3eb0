#include "benchmarks/yardstick/cpu_time.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

TEST(CpuTime, WorkIsCountedAndSeenBySelfAndByNumberAlike) {
  const double before = CpuSecondsOf(0);
  while (CpuSecondsOf(getpid()) < before + 0.001) {
  }
  EXPECT_GE(CpuSecondsOf(0), before + 0.001);
}

TEST(CpuTime, ProcessThatIsNotThereHasUsedNone) {
  constexpr pid_t kPastAnyPid = 1 << 23;
  EXPECT_EQ(CpuSecondsOf(kPastAnyPid), 0);
}

}  // namespace
}  // namespace verbena::benchmarks
