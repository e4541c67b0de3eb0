// Plans that nobody has met before, for as many as fit into some seconds. A failure prints the plan that repeats it.

#include "tests/fresh_seeds/fresh_seeds.h"

#include "gtest/gtest.h"
#include "tests/faults/workload.h"

namespace verbena::faults {
namespace {

TEST(FreshSeeds, EveryCallCompletesOnceAndNothingIsHeld) {
  const std::optional<std::string> failure =
      testing::FailureOfFreshSeeds(absl::Seconds(20), RunWorkloadUnderRandomFaults);
  ASSERT_FALSE(failure.has_value()) << *failure;
}

}  // namespace
}  // namespace verbena::faults
