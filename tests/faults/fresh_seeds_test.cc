// Plans that nobody has met before, for as many as fit into a few seconds. A failure prints the plan that repeats it.

#include <random>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/faults/workload.h"

namespace verbena::faults {
namespace {

constexpr absl::Duration kTime = absl::Seconds(20);

TEST(FreshSeeds, EveryCallCompletesOnceAndNothingIsHeld) {
  std::random_device source;
  const absl::Time end = absl::Now() + kTime;
  while (absl::Now() < end) {
    const auto failure = RunWorkloadUnderRandomFaults(source());
    ASSERT_FALSE(failure.has_value()) << *failure;
  }
}

}  // namespace
}  // namespace verbena::faults
