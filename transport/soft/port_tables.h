// The tables of the device's one port as programs read them: GIDs with their types, and the one partition key.
// Conventions and errors are those of the calls of libibverbs that the comments name.
//
// Every GID is one of RoCE v2; there is no network device behind the port, so none has an interface index. The
// partition key is the default one, 0xffff, and means nothing.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_PORT_TABLES_H_
#define VERBENA_TRANSPORT_SOFT_PORT_TABLES_H_

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace verbena::soft {

// ibv_query_gid_ex: 0 or an errno value. Fills the first `entry_bytes` of the entry: a program may have been compiled
// with fewer members.
int QueryGidEntry(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry, uint32_t flags,
                  size_t entry_bytes);

// ibv_query_gid_table: how many entries there are, or a negative errno value, -EINVAL if they do not fit.
ssize_t QueryGidTable(ibv_context* context, ibv_gid_entry* entries, size_t entries_max, uint32_t flags,
                      size_t entry_bytes);

// ibv_query_gid_type, which only rdma-core's own programs know: 0, or -1 with errno. 0 in `*type` is RoCE v1 or
// InfiniBand, 1 is RoCE v2.
int QueryGidType(ibv_context* context, uint8_t port, unsigned index, int* type);

// ibv_query_pkey: 0, or -1 with errno.
int QueryPartitionKey(ibv_context* context, uint8_t port, int index, __be16* key);

// ibv_get_pkey_index: the index, or -1 with errno.
int PartitionKeyIndex(ibv_context* context, uint8_t port, __be16 key);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PORT_TABLES_H_
