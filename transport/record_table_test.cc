#include "transport/record_table.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

struct Record {
  int value = 0;
  void Clear() { value = 0; }
};

constexpr uint64_t Id(uint32_t generation, uint32_t index) { return uint64_t{generation} << 32 | index; }

TEST(RecordTable, ARecordIsFoundByItsIdUntilItIsFreed) {
  RecordTable<Record> table;
  table.Add(Id(1, 5)).value = 42;
  ASSERT_NE(table.Find(Id(1, 5)), nullptr);
  EXPECT_EQ(table.Find(Id(1, 5))->value, 42);
  EXPECT_EQ(table.Find(Id(2, 5)), nullptr);
  EXPECT_EQ(table.Find(Id(1, 6)), nullptr);
  EXPECT_EQ(table.Find(0), nullptr);
  table.Free(Id(1, 5));
  EXPECT_EQ(table.Find(Id(1, 5)), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(RecordTable, ASlotUsedAgainBeforeTheOldRecordIsFreedKeepsBoth) {
  RecordTable<Record> table;
  table.Add(Id(1, 0)).value = 1;
  table.Add(Id(2, 0)).value = 2;
  EXPECT_EQ(table.Find(Id(1, 0))->value, 1);
  EXPECT_EQ(table.Find(Id(2, 0))->value, 2);
  table.Free(Id(1, 0));
  EXPECT_EQ(table.Find(Id(2, 0))->value, 2);
  table.Add(Id(3, 0)).value = 3;
  EXPECT_EQ(table.Find(Id(2, 0))->value, 2);
  table.Free(Id(2, 0));
  EXPECT_EQ(table.Find(Id(3, 0))->value, 3);
  EXPECT_EQ(table.size(), 1u);
}

TEST(RecordTable, IdsOfTablesWithDifferentTagsDoNotMeet) {
  RecordTable<Record> table;
  table.Add(Id(1, 7)).value = 1;
  table.Add(Id(1, 7 | 1u << 31)).value = 2;
  EXPECT_EQ(table.Find(Id(1, 7))->value, 1);
  EXPECT_EQ(table.Find(Id(1, 7 | 1u << 31))->value, 2);
}

TEST(RecordTable, ARecycledRecordIsCleared) {
  RecordTable<Record> table;
  table.Add(Id(1, 0)).value = 9;
  table.Free(Id(1, 0));
  EXPECT_EQ(table.Add(Id(2, 0)).value, 0);
}

}  // namespace
}  // namespace verbena::transport
