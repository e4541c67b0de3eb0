// Which ways of reaching peers the environment allows.
//
// VERBENA_SOFT_FABRIC is one of these:
//  - auto, as if unset: shared memory to this host's own addresses, TCP to others, and a listener accepts TCP too if
//    VERBENA_SOFT_TCP_BIND is set;
//  - shm: shared memory only;
//  - tcp: TCP only, also within this host.
//
// VERBENA_SOFT_TCP_BIND is the address at which listeners accept TCP, if it is one of those that they are bound to:
// 0.0.0.0 for all of IPv4, :: for all of both families. Unset: this host's loopback addresses.
//
// The TCP port is the port of the listener. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_FABRIC_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_FABRIC_H_

#include <optional>

#include "absl/status/statusor.h"
#include "transport/soft/cm_address.h"

namespace verbena::soft {

enum class Fabric { kAuto, kSharedMemory, kTcp };

// InvalidArgument for a value that is none of these. What is wrong is said on standard error too: the callers of verbs
// get no more than a number.
absl::StatusOr<Fabric> TheFabric();

// Where a listener bound to `address` accepts TCP connections, in its family only; nowhere if it does not. Errors as
// above.
absl::StatusOr<std::optional<SocketAddress>> TcpListeningAddress(const SocketAddress& address);

// Whether queue pairs of this process are likely to use TCP, so that descriptors to wait at should cover it.
bool TcpIsLikely();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_FABRIC_H_
