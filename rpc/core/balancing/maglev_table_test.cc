#include "rpc/core/balancing/maglev_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

std::vector<int> SlotCounts(const MaglevTable& table, size_t servers) {
  std::vector<int> counts(servers);
  for (const uint32_t index : table.slots()) ++counts[index];
  return counts;
}

// What moves when one server leaves a list: shares of all slots.
struct Moved {
  double its_own = 0;
  double others = 0;
};

Moved MovedWithout(size_t leaving, const std::vector<ServerAddress>& servers) {
  std::vector<ServerAddress> rest = servers;
  rest.erase(rest.begin() + static_cast<ptrdiff_t>(leaving));
  const MaglevTable before(servers, kMaglevTableSize), after(rest, kMaglevTableSize);
  Moved moved;
  for (uint32_t slot = 0; slot < kMaglevTableSize; ++slot) {
    const std::string& owner = servers[before.slots()[slot]].text;
    if (owner == rest[after.slots()[slot]].text) continue;
    (owner == servers[leaving].text ? moved.its_own : moved.others) += 1.0 / kMaglevTableSize;
  }
  return moved;
}

TEST(MaglevTable, EqualServersDifferByOneSlot) {
  for (const size_t count : {1, 2, 3, 10, 100, 655}) {
    const std::vector<int> counts = SlotCounts(MaglevTable(Addresses(count), kMaglevTableSize), count);
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, 1) << count;
  }
}

TEST(MaglevTable, SharesFollowWeights) {
  const std::vector<int> counts = SlotCounts(MaglevTable(Weighted({1, 2, 3, 10}), kMaglevTableSize), 4);
  EXPECT_NEAR(counts[0], kMaglevTableSize / 16, 2);
  EXPECT_NEAR(counts[1], kMaglevTableSize / 8, 2);
  EXPECT_NEAR(counts[2], kMaglevTableSize * 3 / 16, 2);
  EXPECT_NEAR(counts[3], kMaglevTableSize * 10 / 16, 2);
}

TEST(MaglevTable, FewKeysButItsOwnMoveWhenAServerLeaves) {
  for (const size_t count : {2, 5, 10, 30, 100}) {
    for (const size_t leaving : {size_t{0}, count / 2, count - 1}) {
      const Moved moved = MovedWithout(leaving, Addresses(count));
      EXPECT_NEAR(moved.its_own, 1.0 / count, 0.0001) << count;
      EXPECT_LT(moved.others, 0.01) << count;
    }
  }
}

TEST(MaglevTable, KeysOfAServerThatLeavesAreSpreadOverTheOthers) {
  const std::vector<ServerAddress> ten = Addresses(10), nine = Addresses(9);
  const MaglevTable before(ten, kMaglevTableSize), after(nine, kMaglevTableSize);
  std::map<uint32_t, int> heirs;
  for (uint32_t slot = 0; slot < kMaglevTableSize; ++slot) {
    if (before.slots()[slot] == 9) ++heirs[after.slots()[slot]];
  }
  ASSERT_EQ(heirs.size(), 9u);
  for (const auto& [heir, slots] : heirs) EXPECT_NEAR(slots, kMaglevTableSize / 90, kMaglevTableSize / 900) << heir;
}

TEST(MaglevTable, OrderOfTheListDoesNotMatter) {
  std::vector<ServerAddress> servers = Weighted({1, 2, 3, 1, 1}), reversed(servers.rbegin(), servers.rend());
  const MaglevTable table(servers, 1009), mirrored(reversed, 1009);
  for (uint64_t hash = 0; hash < 1009; ++hash) {
    EXPECT_EQ(servers[table.Find(hash)].text, reversed[mirrored.Find(hash)].text);
  }
}

TEST(MaglevTable, NoServersMakeAnEmptyTable) { EXPECT_TRUE(MaglevTable({}, kMaglevTableSize).empty()); }

}  // namespace
}  // namespace verbena::rpc
