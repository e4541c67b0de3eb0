#include "benchmarks/yardstick/cpu_span.h"

#include "benchmarks/yardstick/cpu_time.h"

namespace verbena::benchmarks {

CpuSpan::~CpuSpan() {
  if (thread_.joinable()) thread_.join();
}

void CpuSpan::Watch(Clock::time_point from, Clock::time_point to) {
  thread_ = std::thread([this, from, to] {
    std::this_thread::sleep_until(from);
    const double before = UsedByBoth();
    std::this_thread::sleep_until(to);
    seconds_ = UsedByBoth() - before;
  });
}

double CpuSpan::Seconds() {
  if (thread_.joinable()) thread_.join();
  return seconds_;
}

double CpuSpan::UsedByBoth() const { return CpuSecondsOf(0) + CpuSecondsOf(other_); }

}  // namespace verbena::benchmarks
