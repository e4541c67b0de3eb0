// Every policy among unreliable servers; see simulated_servers.h for the rules.

#include <gtest/gtest.h>

#include <cmath>

#include "rpc/core/balancing/simulated_servers.h"

namespace verbena::rpc {
namespace {

constexpr uint64_t kSeeds = 100;
constexpr int kSteps = 2000;
constexpr int kCalls = 12000;

class Simulation : public testing::TestWithParam<PolicyKind> {};

INSTANTIATE_TEST_SUITE_P(Policies, Simulation,
                         testing::Values(PolicyKind::kPickFirst, PolicyKind::kRoundRobin,
                                         PolicyKind::kLeastOutstandingOfTwo, PolicyKind::kConsistentHashing),
                         [](const auto& tested) { return std::string(ToString(tested.param)); });

TEST_P(Simulation, NoRuleIsBroken) {
  size_t ejections_seen = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SimulatedServers servers(GetParam(), seed);
    for (int step = 0; step < kSteps; ++step) {
      servers.Step(/*faults=*/true);
      ejections_seen += servers.balancer().outliers().ejected() > 0;
    }
    EXPECT_TRUE(servers.broken_rules().empty()) << "seed " << seed << ": " << servers.broken_rules().front();
  }
  EXPECT_GT(ejections_seen, 0u);  // Otherwise the runs would show nothing about them.
}

TEST_P(Simulation, AllIsWellSoonAfterTheLastFault) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SimulatedServers servers(GetParam(), seed);
    for (int step = 0; step < kSteps; ++step) servers.Step(/*faults=*/true);
    servers.Heal();
    servers.ConnectWanted();
    EXPECT_EQ(servers.balancer().outliers().ejected(), 0u) << "seed " << seed;
    for (const ListedServer& server : servers.balancer().servers().servers()) {
      EXPECT_EQ(server.pickable, servers.balancer().Wants(server.id)) << "seed " << seed;
    }
    for (int step = 0; step < 100; ++step) servers.Step(/*faults=*/false);
    EXPECT_TRUE(servers.broken_rules().empty()) << "seed " << seed << ": " << servers.broken_rules().front();
  }
}

// Round robin is exact; by lot and by key, five standard deviations; pick first has one server.
TEST_P(Simulation, CallsAreSpreadByWeightAfterFaults) {
  for (uint64_t seed = 1; seed <= kSeeds / 10; ++seed) {
    SimulatedServers servers(GetParam(), seed);
    for (int step = 0; step < kSteps; ++step) servers.Step(/*faults=*/true);
    servers.Heal();
    servers.ConnectWanted();
    const std::map<std::string, int> spread = servers.Spread(kCalls);
    if (GetParam() == PolicyKind::kPickFirst) {
      EXPECT_EQ(spread.size(), 1u);
      continue;
    }
    for (const ListedServer& server : servers.balancer().servers().servers()) {
      const double expected = kCalls * server.address.weight / 24.0;  // Twelve servers of weights 1, 2, 3, 1, …
      const double tolerance = GetParam() == PolicyKind::kRoundRobin ? 5 : 5 * std::sqrt(expected);
      EXPECT_NEAR(spread.at(server.address.text), expected, tolerance) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace verbena::rpc
