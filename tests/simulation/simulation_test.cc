// The promise of the transport, on ten thousand seeds. A failure prints its seed, scenario and trace.

#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/simulation/run.h"

namespace verbena::simulation {
namespace {

constexpr uint64_t kSeedsPerTest = 1000;

class Seeds : public testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, KeepEveryPromise) {
  for (uint64_t seed = GetParam() * kSeedsPerTest + 1; seed <= (GetParam() + 1) * kSeedsPerTest; ++seed) {
    const std::optional<std::string> failure = FailureOfSeed(seed);
    ASSERT_FALSE(failure.has_value()) << *failure;
  }
}

// Past the others, and failed once.
TEST(Simulation, SeedsThatShowedABugKeepEveryPromise) {
  constexpr uint64_t kOpenedLateUnwatched = 21728;
  const std::optional<std::string> failure = FailureOfSeed(kOpenedLateUnwatched);
  EXPECT_FALSE(failure.has_value()) << *failure;
}

INSTANTIATE_TEST_SUITE_P(Simulation, Seeds, testing::Range<uint64_t>(0, 10));

TEST(Simulation, TheSameSeedRunsTheSame) {
  const RunResult first = RunScenario(7, ScenarioOf(7), true);
  const RunResult second = RunScenario(7, ScenarioOf(7), true);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.steps, second.steps);
}

// No receive to spare, and those that there are come back late: each turn of the exchange waits for one.
TEST(Simulation, AuthenticationNeverDeadlocks) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Scenario scenario;
    scenario.connections = 1 + seed % 4;
    scenario.authentication_messages = 1 + seed % 7;
    scenario.messages = 3;
    scenario.packing = static_cast<wire::Packing>(seed % 3);
    scenario.repost_us_max = seed % 2 == 0 ? 5 : 500;
    const RunResult result = RunScenario(seed, scenario, false);
    ASSERT_FALSE(result.violation.has_value()) << "seed " << seed << ": " << *result.violation;
    EXPECT_GE(result.messages, 6u * scenario.connections);
  }
}

// More than may be on offer at a time, and of some more than may be unfetched: each is fetched in the end, whatever is
// cancelled, refused or fails before it.
TEST(Simulation, ManyLargeMessagesAllHaveTheirTurn) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario;
    scenario.messages = 120;
    scenario.gap_us_max = 1;
    scenario.receive_buffer_bytes = 512;
    scenario.message_bytes_max = 1 << 16;
    scenario.offered_bytes = uint64_t{1} << (8 + seed % 12);
    scenario.read_depth = 1 + seed % 4;
    scenario.exports_revocable = seed % 2 == 0;
    scenario.packing = static_cast<wire::Packing>(seed % 3);
    scenario.cancel_send_one_in = seed % 5;
    scenario.refuse_one_in = seed % 4 == 3 ? 5 : 0;
    scenario.no_export_one_in = seed % 7 == 6 ? 5 : 0;
    const RunResult result = RunScenario(seed, scenario, false);
    ASSERT_FALSE(result.violation.has_value()) << "seed " << seed << ": " << *result.violation;
  }
}

// The smallest windows that there are: two credits each way, receives that come back late, one connection or many.
TEST(Simulation, WindowsOfTwoNeverDeadlock) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Scenario scenario;
    scenario.connections = 1 + seed % 3;
    scenario.credits_max = 2;
    scenario.send_slots = 4;
    scenario.messages = 20;
    scenario.gap_us_max = 2;
    scenario.answer_one_in = 1 + seed % 4;
    scenario.message_bytes_max = 1 << 14;
    scenario.packing = static_cast<wire::Packing>(seed % 3);
    scenario.repost_us_max = seed % 2 == 0 ? 0 : 50;
    const RunResult result = RunScenario(seed, scenario, false);
    ASSERT_FALSE(result.violation.has_value()) << "seed " << seed << ": " << *result.violation;
  }
}

}  // namespace
}  // namespace verbena::simulation
