#include "benchmarks/yardstick/cpu_span.h"

#include <unistd.h>

#include "benchmarks/yardstick/cpu_time.h"
#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

constexpr pid_t kNobody = 1 << 23;  // Past any process id.
constexpr double kWork = 0.02;      // Seconds.

void Work() {
  const double until = CpuSecondsOf(0) + kWork;
  while (CpuSecondsOf(0) < until) {
  }
}

TEST(CpuSpan, WorkBeforeItDoesNotCount) {
  CpuSpan span(kNobody);
  Work();
  const CpuSpan::Clock::time_point now = CpuSpan::Clock::now();
  span.Watch(now, now + std::chrono::milliseconds(1));
  EXPECT_LT(span.Seconds(), kWork);
}

TEST(CpuSpan, WorkInItCountsForEachOfTheTwo) {
  CpuSpan span(getpid());  // Twice the same.
  const CpuSpan::Clock::time_point now = CpuSpan::Clock::now();
  const CpuSpan::Clock::time_point to = now + std::chrono::milliseconds(200);
  span.Watch(now, to);
  while (CpuSpan::Clock::now() < to) {
  }
  EXPECT_GT(span.Seconds(), kWork);
}

TEST(CpuSpan, IsNotWaitedForByWhoHasNoUseForIt) {
  const CpuSpan::Clock::time_point now = CpuSpan::Clock::now();
  {
    CpuSpan span(kNobody);
    span.Watch(now, now + std::chrono::hours(1));
  }
  EXPECT_LT(CpuSpan::Clock::now(), now + std::chrono::minutes(1));
}

TEST(CpuSpan, NoneWatchedIsNone) { EXPECT_EQ(CpuSpan(kNobody).Seconds(), 0); }

}  // namespace
}  // namespace verbena::benchmarks
