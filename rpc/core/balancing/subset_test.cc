#include "rpc/core/balancing/subset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

TEST(Subset, HasTheSizeThatWasAskedForInTheListsOrder) {
  const std::vector<ServerAddress> all = Addresses(50), subset = ChooseSubset(all, 7, 1);
  ASSERT_EQ(subset.size(), 7u);
  size_t position = 0;
  for (const ServerAddress& server : subset) {
    while (position < all.size() && all[position].text != server.text) ++position;
    EXPECT_LT(position, all.size());
  }
}

TEST(Subset, ZeroOrMoreThanThereAreIsAll) {
  EXPECT_EQ(ChooseSubset(Addresses(3), 0, 1).size(), 3u);
  EXPECT_EQ(ChooseSubset(Addresses(3), 9, 1).size(), 3u);
}

TEST(Subset, ServerThatIsNamedTwiceCountsOnce) {
  std::vector<ServerAddress> twice = Addresses(5);
  for (const ServerAddress& server : Addresses(5)) twice.push_back(server);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::string> names;
    for (const ServerAddress& server : ChooseSubset(twice, 2, seed)) names.insert(server.text);
    EXPECT_EQ(names.size(), 2u) << seed;
  }
}

TEST(Subset, AtMostOneChangesWhenOneServerLeaves) {
  const std::vector<ServerAddress> all = Addresses(50);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<ServerAddress> before = ChooseSubset(all, 8, seed);
    std::vector<ServerAddress> rest = all;
    rest.erase(std::find(rest.begin(), rest.end(), before[3]));
    int kept = 0;
    for (const ServerAddress& server : ChooseSubset(rest, 8, seed)) {
      kept += std::find(before.begin(), before.end(), server) != before.end();
    }
    EXPECT_EQ(kept, 7);
  }
}

TEST(Subset, ServersAreInAboutAsManySubsets) {
  std::map<std::string, int> clients;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (const ServerAddress& server : ChooseSubset(Addresses(20), 5, seed)) ++clients[server.text];
  }
  ASSERT_EQ(clients.size(), 20u);
  for (const auto& [server, count] : clients) EXPECT_NEAR(count, 250, 60) << server;  // Four standard deviations.
}

}  // namespace
}  // namespace verbena::rpc
