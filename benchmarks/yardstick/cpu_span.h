// Processor time that a measurement's two processes use in a span of time that begins later.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_CPU_SPAN_H_
#define VERBENA_BENCHMARKS_YARDSTICK_CPU_SPAN_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace verbena::benchmarks {

// Owner: who measures. Thread: one at a time; it has one of its own, which sleeps until the span begins, and until it
// ends, or this is destroyed.
class CpuSpan {
 public:
  using Clock = std::chrono::steady_clock;

  // Of this process and `other`.
  explicit CpuSpan(pid_t other) : other_(other) {}
  CpuSpan(const CpuSpan&) = delete;
  CpuSpan& operator=(const CpuSpan&) = delete;

  // Once at most.
  void Watch(Clock::time_point from, Clock::time_point to);
  // When the span is over: waits for that. 0 if none was watched.
  double Seconds();

 private:
  double UsedByBoth() const;
  // False if this is destroyed before.
  bool SleepUntil(Clock::time_point time, const std::stop_token& stop);

  const pid_t other_;
  double seconds_ = 0;  // The thread's until it ends.
  std::mutex mu_;
  std::condition_variable_any woken_;  // By nothing but the thread's stop token.
  std::jthread thread_;                // The last member: it uses the others.
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_CPU_SPAN_H_
