// The promise of the transport, on seeds that nobody has run before, for as many as fit into some seconds. A failure
// prints its seed, scenario and trace, as in simulation_test.

#include "tests/fresh_seeds/fresh_seeds.h"

#include "gtest/gtest.h"
#include "tests/simulation/run.h"

namespace verbena::simulation {
namespace {

TEST(FreshSeeds, KeepEveryPromise) {
  const std::optional<std::string> failure = testing::FailureOfFreshSeeds(absl::Seconds(20), FailureOfSeed);
  ASSERT_FALSE(failure.has_value()) << *failure;
}

}  // namespace
}  // namespace verbena::simulation
