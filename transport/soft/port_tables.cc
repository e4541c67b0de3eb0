#include "transport/soft/port_tables.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/soft/control_path.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kThePort = 1;
constexpr uint16_t kDefaultPartitionKey = 0xffff;
constexpr int kRoceV2 = 1;  // As the kernel's file of GID types counts; verbs.h has no name for it.

int MinusOne(int error) {
  errno = error;
  return -1;
}

}  // namespace

int QueryGidEntry(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry, uint32_t flags,
                  size_t entry_bytes) {
  if (flags != 0) return EOPNOTSUPP;
  ibv_gid_entry whole = {};
  if (port != kThePort || index > INT32_MAX) return EINVAL;
  if (QueryGid(context, kThePort, static_cast<int>(index), &whole.gid) != 0) return EINVAL;
  whole.gid_index = index;
  whole.port_num = port;
  whole.gid_type = IBV_GID_TYPE_ROCE_V2;
  std::memset(static_cast<void*>(entry), 0, entry_bytes);
  std::memcpy(static_cast<void*>(entry), &whole, std::min(entry_bytes, sizeof(whole)));
  return 0;
}

ssize_t QueryGidTable(ibv_context* context, ibv_gid_entry* entries, size_t entries_max, uint32_t flags,
                      size_t entry_bytes) {
  if (flags != 0) return -EOPNOTSUPP;
  ibv_port_attr port = {};
  if (int error = QueryPort(context, kThePort, &port); error != 0) return -error;
  auto count = static_cast<uint32_t>(port.gid_tbl_len);
  if (count > entries_max) return -EINVAL;
  auto* place = reinterpret_cast<std::byte*>(entries);
  for (uint32_t index = 0; index < count; ++index, place += entry_bytes) {
    auto* entry = reinterpret_cast<ibv_gid_entry*>(place);
    if (int error = QueryGidEntry(context, kThePort, index, entry, 0, entry_bytes); error != 0) return -error;
  }
  return count;
}

int QueryGidType(ibv_context* context, uint8_t port, unsigned index, int* type) {
  ibv_gid_entry entry = {};
  if (int error = QueryGidEntry(context, port, index, &entry, 0, sizeof(entry)); error != 0) return MinusOne(error);
  *type = kRoceV2;
  return 0;
}

int QueryPartitionKey(ibv_context* context, uint8_t port, int index, __be16* key) {
  if (port != kThePort || index != 0) return MinusOne(EINVAL);
  *key = htobe16(kDefaultPartitionKey);
  return 0;
}

int PartitionKeyIndex(ibv_context* context, uint8_t port, __be16 key) {
  return port == kThePort && key == htobe16(kDefaultPartitionKey) ? 0 : MinusOne(EINVAL);
}

}  // namespace verbena::soft
