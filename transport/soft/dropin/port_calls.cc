// libibverbs: the tables of a port.

#include <infiniband/verbs.h>

#include "transport/soft/c_boundary.h"
#include "transport/soft/port_tables.h"

using namespace verbena::soft;

extern "C" {

int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry, uint32_t flags,
                      size_t entry_bytes) {
  return OrErrno([=] { return QueryGidEntry(context, port, index, entry, flags, entry_bytes); });
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t entries_max, uint32_t flags,
                             size_t entry_bytes) {
  return OrMinusOne([=] { return QueryGidTable(context, entries, entries_max, flags, entry_bytes); });
}

// Of the private interface, and so in no header. An enumeration in the last place.
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index, int* type) {
  return OrMinusOne([=] { return QueryGidType(context, port, index, type); });
}

int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* key) {
  return OrMinusOne([=] { return QueryPartitionKey(context, port, index, key); });
}

int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 key) {
  return OrMinusOne([=] { return PartitionKeyIndex(context, port, key); });
}

}  // extern "C"
