#include "transport/soft/port_tables.h"

#include <endian.h>

#include <array>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"

namespace verbena::soft {
namespace {

size_t GidCount() {
  ibv_port_attr port = {};
  EXPECT_EQ(QueryPort(SoftContext(), 1, &port), 0);
  return static_cast<size_t>(port.gid_tbl_len);
}

TEST(PortTables, GidEntrySaysWhatQueryGidSaysAndItsType) {
  ibv_gid gid = {};
  ASSERT_EQ(QueryGid(SoftContext(), 1, 0, &gid), 0);
  ibv_gid_entry entry = {};
  ASSERT_EQ(QueryGidEntry(SoftContext(), 1, 0, &entry, 0, sizeof(entry)), 0);
  EXPECT_EQ(std::memcmp(&entry.gid, &gid, sizeof(gid)), 0);
  EXPECT_EQ(entry.gid_type, uint32_t{IBV_GID_TYPE_ROCE_V2});
  EXPECT_EQ(entry.port_num, 1u);
  int type = 0;
  EXPECT_EQ(QueryGidType(SoftContext(), 1, 0, &type), 0);
  EXPECT_EQ(type, 1);
}

TEST(PortTables, GidBeyondTheTableIsInvalid) {
  ibv_gid_entry entry = {};
  EXPECT_EQ(QueryGidEntry(SoftContext(), 1, static_cast<uint32_t>(GidCount()), &entry, 0, sizeof(entry)), EINVAL);
  EXPECT_EQ(QueryGidEntry(SoftContext(), 2, 0, &entry, 0, sizeof(entry)), EINVAL);
  EXPECT_EQ(QueryGidEntry(SoftContext(), 1, UINT32_MAX, &entry, 0, sizeof(entry)), EINVAL);
  EXPECT_EQ(QueryGidEntry(SoftContext(), 1, 0, &entry, 1, sizeof(entry)), EOPNOTSUPP);
}

TEST(PortTables, WholeTableFitsOrIsRefused) {
  std::vector<ibv_gid_entry> entries(GidCount());
  EXPECT_EQ(QueryGidTable(SoftContext(), entries.data(), entries.size(), 0, sizeof(ibv_gid_entry)),
            static_cast<ssize_t>(entries.size()));
  EXPECT_EQ(entries.back().gid_index, entries.size() - 1);
  EXPECT_EQ(QueryGidTable(SoftContext(), entries.data(), entries.size() - 1, 0, sizeof(ibv_gid_entry)), -EINVAL);
}

TEST(PortTables, OlderProgramsGetTheEntriesThatTheyHaveRoomFor) {
  constexpr size_t kOldBytes = offsetof(ibv_gid_entry, ndev_ifindex);
  std::vector<std::byte> entries(GidCount() * kOldBytes + 1, std::byte{77});
  auto* first = reinterpret_cast<ibv_gid_entry*>(entries.data());
  EXPECT_EQ(QueryGidTable(SoftContext(), first, GidCount(), 0, kOldBytes), static_cast<ssize_t>(GidCount()));
  EXPECT_EQ(entries.back(), std::byte{77});
}

TEST(PortTables, OnePartitionKeyIsTheDefaultOne) {
  __be16 key = 0;
  EXPECT_EQ(QueryPartitionKey(SoftContext(), 1, 0, &key), 0);
  EXPECT_EQ(key, htobe16(0xffff));
  EXPECT_EQ(PartitionKeyIndex(SoftContext(), 1, key), 0);
  EXPECT_EQ(PartitionKeyIndex(SoftContext(), 1, htobe16(7)), -1);
  EXPECT_EQ(QueryPartitionKey(SoftContext(), 1, 1, &key), -1);
}

}  // namespace
}  // namespace verbena::soft
