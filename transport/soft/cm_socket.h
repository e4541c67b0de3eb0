// The control sockets: AF_UNIX, SOCK_SEQPACKET, non-blocking, close-on-exec, with abstract names.
//
// An address of the soft network, with its port, is one abstract name, "verbena-soft-cm/<address>/<port>", and belongs
// to one process of the network namespace at a time. Who connects looks for the address itself, then for the wildcard
// of its family: so one process may have the wildcard, and another a specific address of the same port, which goes
// before it. An abstract name has no permissions: anyone may connect to one, or take one first. So both ends look at
// the other's credentials, which the kernel vouches for, and talk only to a process of their own effective user id.
//
// Thread: any; nothing here blocks. Errors: errno values.

#ifndef VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "transport/soft/cm_address.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/control_socket.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// The abstract name of an address with its port, without the leading zero byte. Scopes are not in it.
std::string NameOf(const SocketAddress& address);

// Takes the address. EADDRINUSE if a process of this network namespace has it.
int BindAddress(const SocketAddress& address, UniqueFd* socket);
// From now on others can connect; they wait in the kernel until AcceptPeer.
int ListenAtAddress(int socket);
// ECONNREFUSED: nobody listens. EAGAIN: too many wait there already. EACCES: the listener is another user's.
int ConnectToAddress(const SocketAddress& destination, UniqueFd* socket, ucred* peer);
// EAGAIN: nobody waits. EACCES: the peer was another user's, and is disconnected.
int AcceptPeer(int listening_socket, UniqueFd* socket, ucred* peer);

// EPIPE or ECONNRESET: the peer is gone. The descriptors stay the caller's.
int SendMessage(int socket, const CmMessage& message, absl::Span<const UniqueFd> fds);

Receipt ReceiveMessage(int socket, ReceivedMessage* received);

// The interface above these functions. `peer` is what ConnectToAddress or AcceptPeer said.
std::unique_ptr<ControlSocket> MakeUnixControlSocket(UniqueFd socket, const ucred& peer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
