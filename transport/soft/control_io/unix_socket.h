// AF_UNIX sockets, SOCK_SEQPACKET, non-blocking, close-on-exec, with abstract names: what processes of one network
// namespace find each other by, and pass descriptors over.
//
// An abstract name has no permissions: anyone may connect to one, or take one first. So both ends look at the other's
// credentials, which the kernel vouches for, and talk only to a process of their own effective user id.
//
// Thread: any; nothing here blocks. Errors: errno values.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_IO_UNIX_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_IO_UNIX_SOCKET_H_

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

inline constexpr size_t kPacketFdsMax = 8;  // Descriptors beside one packet.

// Takes a name, given without the leading zero byte. EADDRINUSE if a process of this network namespace has it.
int BindName(const std::string& name, UniqueFd* socket);
// From now on others can connect; they wait in the kernel until AcceptPeer.
int ListenForPeers(int socket);
// ECONNREFUSED: nobody listens. EAGAIN: too many wait there already. EACCES: the listener is another user's.
int ConnectToName(const std::string& name, UniqueFd* socket, ucred* peer);
// EAGAIN: nobody waits. EACCES: the peer was another user's, and is disconnected.
int AcceptPeer(int listening, UniqueFd* socket, ucred* peer);

// EPIPE or ECONNRESET: the peer is gone. The descriptors stay the caller's.
int SendPacket(int socket, absl::Span<const std::byte> bytes, absl::Span<const UniqueFd> fds);

enum class Receipt {
  kMessage,    // One message; call again.
  kNothing,    // No more for now.
  kEnd,        // The peer is gone.
  kMalformed,  // The peer is not to be talked to.
};

// A packet longer than `room`, or with more descriptors than are allowed, is malformed. `*length` is more than 0.
Receipt ReceivePacket(int socket, absl::Span<std::byte> room, size_t* length, std::vector<UniqueFd>* fds);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_IO_UNIX_SOCKET_H_
