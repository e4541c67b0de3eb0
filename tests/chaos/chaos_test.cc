// A minute of chaos, of a seed that nobody has met before.

#include <random>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/chaos/conductor.h"

namespace verbena::chaos {
namespace {

TEST(Chaos, EveryCallCompletesOnceAndIsToldTheTruth) {
  const std::vector<std::string> broken = RunChaos(std::random_device()(), absl::Minutes(1), testing::TempDir());
  EXPECT_TRUE(broken.empty()) << absl::StrJoin(broken, "\n");
}

}  // namespace
}  // namespace verbena::chaos
