// Waiting for what others count and tell nobody, such as the transport's counters.

#ifndef VERBENA_TESTS_INTEGRATION_WAIT_UNTIL_H_
#define VERBENA_TESTS_INTEGRATION_WAIT_UNTIL_H_

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace verbena {

// Looks again and again. False if `patience` runs out.
inline bool WaitUntil(absl::FunctionRef<bool()> condition, absl::Duration patience) {
  const absl::Time give_up = absl::Now() + patience;
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

}  // namespace verbena

#endif  // VERBENA_TESTS_INTEGRATION_WAIT_UNTIL_H_
