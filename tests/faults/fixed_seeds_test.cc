// The same plans in every run.

#include "gtest/gtest.h"
#include "tests/faults/workload.h"

namespace verbena::faults {
namespace {

class FixedSeeds : public testing::TestWithParam<uint64_t> {};

TEST_P(FixedSeeds, EveryCallCompletesOnceAndNothingIsHeld) {
  const auto failure = RunWorkloadUnderRandomFaults(GetParam());
  EXPECT_FALSE(failure.has_value()) << *failure;
}

INSTANTIATE_TEST_SUITE_P(Seeds, FixedSeeds, testing::Range<uint64_t>(1, 33));

TEST(Workload, PassesWithoutFaults) {
  const auto failure = RunWorkload(1, {});
  EXPECT_FALSE(failure.has_value()) << *failure;
}

}  // namespace
}  // namespace verbena::faults
