#include "tests/fresh_seeds/fresh_seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace verbena::testing {
namespace {

TEST(FreshSeeds, AreAllDifferent) {
  std::set<uint64_t> seen;
  EXPECT_EQ(FailureOfFreshSeeds(absl::InfiniteDuration(),
                                [&](uint64_t seed) -> std::optional<std::string> {
                                  EXPECT_TRUE(seen.insert(seed).second) << seed;
                                  return seen.size() < 100 ? std::nullopt : std::optional<std::string>("enough");
                                }),
            "enough");
}

TEST(FreshSeeds, StopAtTheFirstThatFails) {
  int runs = 0;
  EXPECT_THAT(
      FailureOfFreshSeeds(absl::InfiniteDuration(),
                          [&](uint64_t) { return ++runs == 3 ? std::optional<std::string>("lost") : std::nullopt; }),
      ::testing::Optional(std::string("lost")));
  EXPECT_EQ(runs, 3);
}

TEST(FreshSeeds, RunUntilTimeIsUpAndOneAtLeast) {
  int runs = 0;
  FailureOfFreshSeeds(absl::ZeroDuration(), [&](uint64_t) -> std::optional<std::string> {
    ++runs;
    return std::nullopt;
  });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace verbena::testing
