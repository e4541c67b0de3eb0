#include "benchmarks/yardstick/cpu_span.h"

#include "benchmarks/yardstick/cpu_time.h"

namespace verbena::benchmarks {

void CpuSpan::Watch(Clock::time_point from, Clock::time_point to) {
  thread_ = std::jthread([this, from, to](const std::stop_token& stop) {
    if (!SleepUntil(from, stop)) return;
    const double before = UsedByBoth();
    if (SleepUntil(to, stop)) seconds_ = UsedByBoth() - before;
  });
}

bool CpuSpan::SleepUntil(Clock::time_point time, const std::stop_token& stop) {
  std::unique_lock lock(mu_);
  woken_.wait_until(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

double CpuSpan::Seconds() {
  if (thread_.joinable()) thread_.join();
  return seconds_;
}

double CpuSpan::UsedByBoth() const { return CpuSecondsOf(0) + CpuSecondsOf(other_); }

}  // namespace verbena::benchmarks
