// Seeds that nobody has run before: beside those that a test always runs, since any fixed list leaves the next one out.

#ifndef VERBENA_TESTS_FRESH_SEEDS_FRESH_SEEDS_H_
#define VERBENA_TESTS_FRESH_SEEDS_FRESH_SEEDS_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace verbena::testing {

// Runs one seed after another for `time`, one at least, until one fails: what `failure_of` says of it then.
template <typename FailureOf>
std::optional<std::string> FailureOfFreshSeeds(absl::Duration time, FailureOf failure_of) {
  std::random_device source;
  const absl::Time end = absl::Now() + time;
  std::optional<std::string> failure;
  do {
    const uint64_t high = source();
    failure = failure_of(high << 32 | source());
  } while (!failure.has_value() && absl::Now() < end);
  return failure;
}

}  // namespace verbena::testing

#endif  // VERBENA_TESTS_FRESH_SEEDS_FRESH_SEEDS_H_
