// The steady clock of an event loop, read as seldom as its user allows.
//
// Reading the system's clock costs some 25 ns where it can be read in user space, and a system call where it cannot (a
// virtual machine whose clock is not the processor's). The processor's own counter costs a few nanoseconds anywhere,
// and tells whether the last reading is recent.
//
// Thread: one.

#ifndef VERBENA_TRANSPORT_LOOP_CLOCK_H_
#define VERBENA_TRANSPORT_LOOP_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace verbena::transport {

class LoopClock {
 public:
  LoopClock() { Read(); }

  // What was read last, as an absl::Time whose epoch is the machine's boot.
  absl::Time now() const { return now_; }

  void Read();
  // Reads unless the last reading is less than a millisecond ago, of which the processor was awake. Where it has no
  // counter that user space may read, always reads.
  void ReadUnlessRecent();

 private:
  absl::Time now_;
  uint64_t ticks_ = 0;  // The processor's counter at that reading.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LOOP_CLOCK_H_
