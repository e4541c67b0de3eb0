#include "rpc/core/balancing/round_robin.h"

#include <gtest/gtest.h>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

// Names the servers of the next picks by their positions.
std::string Picks(RoundRobin& policy, const ServerList& list, int count) {
  std::string picks;
  for (int i = 0; i < count; ++i) picks += std::to_string(policy.Pick({}, list).value());
  return picks;
}

TEST(RoundRobin, EqualServersTakeTurns) {
  const ServerList list = ReadyList(Addresses(3));
  RoundRobin policy(0);
  policy.OnServersChanged(list);
  EXPECT_EQ(Picks(policy, list, 6), "012012");
}

TEST(RoundRobin, SeedSaysWhoseTurnIsFirst) {
  const ServerList list = ReadyList(Addresses(3));
  RoundRobin policy(5);
  policy.OnServersChanged(list);
  EXPECT_EQ(Picks(policy, list, 3), "201");
}

TEST(RoundRobin, OnlyPickableServersHaveTurns) {
  ServerList list = ReadyList(Addresses(3));
  At(list, 1).state = ServerState::kConnecting;
  list.UpdatePickable();
  RoundRobin policy(0);
  policy.OnServersChanged(list);
  EXPECT_EQ(Picks(policy, list, 4), "0202");
}

// The example of nginx's commit.
TEST(RoundRobin, WeightsAreExactAndSmooth) {
  const ServerList list = ReadyList(Weighted({5, 1, 1}));
  RoundRobin policy(0);
  policy.OnServersChanged(list);
  EXPECT_EQ(Picks(policy, list, 14), "00102000010200");
}

TEST(RoundRobin, AccountsOutliveChanges) {
  ServerList list = ReadyList(Weighted({5, 1, 1}));
  RoundRobin policy(0);
  std::string picks;
  for (int i = 0; i < 7; ++i) {
    policy.OnServersChanged(list);
    picks += Picks(policy, list, 1);
  }
  EXPECT_EQ(picks, "0010200");
}

TEST(RoundRobin, NothingPickableIsNoPick) {
  RoundRobin policy(0);
  policy.OnServersChanged(ServerList());
  EXPECT_EQ(policy.Pick({}, ServerList()), std::nullopt);
}

}  // namespace
}  // namespace verbena::rpc
