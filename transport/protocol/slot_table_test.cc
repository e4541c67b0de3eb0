#include "transport/protocol/slot_table.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

TEST(SlotTable, AnIdOfAFreedSlotIsFoundNoMore) {
  SlotTable<int> table;
  const uint32_t index = table.Allocate();
  const uint64_t id = table.IdOf(index);
  EXPECT_EQ(table.Find(id), index);
  table.Free(index);
  EXPECT_EQ(table.Find(id), SlotQueue::kNone);
  EXPECT_EQ(table.Allocate(), index);
  EXPECT_EQ(table.Find(id), SlotQueue::kNone);
}

TEST(SlotTable, TablesWithDifferentTagsDoNotFindEachOthersIds) {
  SlotTable<int> one;
  SlotTable<int> other(uint32_t{1} << 31);
  EXPECT_EQ(one.Find(other.IdOf(other.Allocate())), SlotQueue::kNone);
  EXPECT_EQ(other.Find(one.IdOf(one.Allocate())), SlotQueue::kNone);
}

TEST(SlotTable, ZeroIsNoId) {
  SlotTable<int> table;
  EXPECT_NE(table.IdOf(table.Allocate()), 0u);
  EXPECT_EQ(table.Find(0), SlotQueue::kNone);
}

TEST(SlotTable, AQueueKeepsOrderWhenAnInnerSlotLeaves) {
  SlotTable<int> table;
  SlotQueue queue;
  for (int i = 0; i < 3; ++i) table.PushBack(queue, table.Allocate());
  table.Remove(queue, 1);
  EXPECT_EQ(table.PopFront(queue), 0u);
  EXPECT_EQ(table.PopFront(queue), 2u);
  EXPECT_TRUE(queue.empty());
}

TEST(SlotTable, TheSlotsOfAQueueFollowEachOther) {
  SlotTable<int> table;
  SlotQueue queue;
  for (int i = 0; i < 3; ++i) table.PushBack(queue, table.Allocate());
  table.Remove(queue, 1);
  std::vector<uint32_t> order;
  for (uint32_t index = queue.head; index != SlotQueue::kNone; index = table.Next(index)) order.push_back(index);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 2}));
}

}  // namespace
}  // namespace verbena::protocol
