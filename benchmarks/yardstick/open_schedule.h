// When the calls of an open loop are to be started: so many a second, whatever became of those before.
//
// A closed loop waits for the server before it asks again, and so does not see how long a call that was due meanwhile
// would have waited ("coordinated omission"). Here each call has an instant, and its latency counts from there.
//
// Owner: a load. Thread: one. The caller brings the time.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_OPEN_SCHEDULE_H_
#define VERBENA_BENCHMARKS_YARDSTICK_OPEN_SCHEDULE_H_

#include <chrono>
#include <cstdint>

namespace verbena::benchmarks {

class OpenSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  // The first call is due at `begin`. `per_second` is more than 0.
  OpenSchedule(double per_second, Clock::time_point begin) : per_second_(per_second), begin_(begin) {}

  // When the next call is due.
  Clock::time_point next() const { return InstantOf(taken_); }
  // Takes it, and goes on to the one after.
  Clock::time_point Take() { return InstantOf(taken_++); }
  uint64_t taken() const { return taken_; }

 private:
  // Each from the beginning: no error adds up.
  Clock::time_point InstantOf(uint64_t call) const {
    const std::chrono::duration<double> since_begin(static_cast<double>(call) / per_second_);
    return begin_ + std::chrono::duration_cast<Clock::duration>(since_begin);
  }

  const double per_second_;
  const Clock::time_point begin_;
  uint64_t taken_ = 0;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_OPEN_SCHEDULE_H_
