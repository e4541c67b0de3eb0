// The GID table of the device's one port: the addresses of this host, as RoCE v2 writes them (an IPv4 address is
// mapped into IPv6). Index 0 is the loopback address 127.0.0.1, which every host has; the interfaces' IPv4 addresses
// follow, then IPv6 ones. Read once, when it is first asked for: an index keeps its meaning.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_GID_TABLE_H_
#define VERBENA_TRANSPORT_SOFT_GID_TABLE_H_

#include <infiniband/verbs.h>

namespace verbena::soft {

inline constexpr int kGidsMax = 64;

// At least 1.
int LocalGidCount();

// Null if there is no such index.
const ibv_gid* LocalGid(int index);

// Whether it is that of an address which this host has now, in the table or not.
bool IsGidOfThisHost(const ibv_gid& gid);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_GID_TABLE_H_
