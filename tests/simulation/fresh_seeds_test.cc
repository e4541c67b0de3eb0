// The promise of the transport, on seeds that nobody has run before, for as many as fit into some seconds. A failure
// prints its seed, scenario and trace, as in simulation_test.

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/simulation/run.h"

namespace verbena::simulation {
namespace {

constexpr absl::Duration kTime = absl::Seconds(20);

TEST(FreshSeeds, KeepEveryPromise) {
  std::random_device source;
  const absl::Time end = absl::Now() + kTime;
  while (absl::Now() < end) {
    const uint64_t high = source();
    const std::optional<std::string> failure = FailureOfSeed(high << 32 | source());
    ASSERT_FALSE(failure.has_value()) << *failure;
  }
}

}  // namespace
}  // namespace verbena::simulation
