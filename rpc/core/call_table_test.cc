#include "rpc/core/call_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace verbena::rpc {
namespace {

TEST(CallTable, CallsAreFoundById) {
  CallTable<std::string> table(4);
  const uint64_t a = *table.Emplace("a");
  const uint64_t b = *table.Emplace("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(*table.Find(a), "a");
  EXPECT_EQ(*table.Find(b), "b");
  EXPECT_EQ(table.size(), 2u);
}

TEST(CallTable, IdsAreNeverZero) {
  CallTable<int> table(1);
  EXPECT_NE(*table.Emplace(1), 0u);
  EXPECT_EQ(table.Find(0), nullptr);
}

TEST(CallTable, FullTableTakesNoMore) {
  CallTable<int> table(2);
  const uint64_t first = *table.Emplace(1);
  ASSERT_TRUE(table.Emplace(2).has_value());
  EXPECT_TRUE(table.full());
  EXPECT_FALSE(table.Emplace(3).has_value());
  EXPECT_TRUE(table.Erase(first));
  EXPECT_TRUE(table.Emplace(3).has_value());
}

TEST(CallTable, TableOfNoCapacityTakesNone) { EXPECT_FALSE(CallTable<int>(0).Emplace(1).has_value()); }

TEST(CallTable, StaleIdFindsNothing) {
  CallTable<int> table(1);
  const uint64_t stale = *table.Emplace(1);
  ASSERT_TRUE(table.Erase(stale));
  EXPECT_EQ(table.Find(stale), nullptr);
  const uint64_t next = *table.Emplace(2);
  EXPECT_EQ(CallIndex(next), CallIndex(stale));
  EXPECT_EQ(table.Find(stale), nullptr);
  EXPECT_FALSE(table.Erase(stale));
  EXPECT_FALSE(table.Take(stale).has_value());
  EXPECT_EQ(*table.Find(next), 2);
}

TEST(CallTable, ForgedIdFindsNothing) {
  CallTable<int> table(8);
  const uint64_t id = *table.Emplace(1);
  EXPECT_EQ(table.Find(id + 1), nullptr);
  EXPECT_EQ(table.Find(id + (uint64_t{1} << 32)), nullptr);
  EXPECT_EQ(table.Find(~uint64_t{0}), nullptr);
}

TEST(CallTable, TakenCallIsHandedOver) {
  CallTable<std::unique_ptr<int>> table(1);
  const uint64_t id = *table.Emplace(std::make_unique<int>(5));
  const std::optional<std::unique_ptr<int>> taken = table.Take(id);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(**taken, 5);
  EXPECT_TRUE(table.empty());
}

TEST(CallTable, CallsStayInPlaceWhileOthersComeAndGo) {
  CallTable<int> table(1000);
  const uint64_t id = *table.Emplace(7);
  const int* place = table.Find(id);
  std::vector<uint64_t> others;
  for (int i = 0; i < 999; ++i) others.push_back(*table.Emplace(i));
  for (uint64_t other : others) EXPECT_TRUE(table.Erase(other));
  EXPECT_EQ(table.Find(id), place);
  EXPECT_EQ(*place, 7);
}

TEST(CallTable, VisitorMayEraseWhatItVisits) {
  CallTable<int> table(8);
  for (int i = 0; i < 8; ++i) table.Emplace(i);
  int visits = 0;
  table.ForEach([&](uint64_t id, int& call) {
    ++visits;
    if (call % 2 == 0) table.Erase(id);
  });
  EXPECT_EQ(visits, 8);
  EXPECT_EQ(table.size(), 4u);
}

// A call that cannot move, and looks for itself when it dies.
struct SelfSeeker {
  SelfSeeker(CallTable<SelfSeeker>* table, bool* found) : table(table), found(found) {}
  SelfSeeker(const SelfSeeker&) = delete;
  ~SelfSeeker() { *found = table->Find(id) != nullptr; }
  CallTable<SelfSeeker>* table;
  bool* found;
  uint64_t id = 0;
};

TEST(CallTable, DyingCallIsFoundNoMore) {
  CallTable<SelfSeeker> table(1);
  bool found = true;
  const uint64_t id = *table.Emplace(&table, &found);
  table.Find(id)->id = id;
  EXPECT_TRUE(table.Erase(id));
  EXPECT_FALSE(found);
}

}  // namespace
}  // namespace verbena::rpc
