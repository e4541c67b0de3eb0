#include "transport/loop_clock.h"

#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace verbena::transport {
namespace {

uint64_t Ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

// As many as pass in a millisecond at most; 0: there is no counter. Some counters stand still while the processor
// sleeps: whoever has slept reads the clock in any case.
uint64_t RecentTicks() {
#if defined(__x86_64__)
  return uint64_t{1} << 20;  // The counter runs at 1 GHz and more.
#elif defined(__aarch64__)
  uint64_t per_second;
  asm("mrs %0, cntfrq_el0" : "=r"(per_second));
  return per_second / 1000;
#else
  return 0;
#endif
}

}  // namespace

void LoopClock::Read() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  now_ = absl::TimeFromTimespec(now);
  ticks_ = Ticks();
}

void LoopClock::ReadUnlessRecent() {
  // Unsigned: a counter that went backwards counts as one that went far.
  if (Ticks() - ticks_ >= RecentTicks()) Read();
}

}  // namespace verbena::transport
