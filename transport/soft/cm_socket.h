// The control sockets: AF_UNIX, SOCK_SEQPACKET, non-blocking, close-on-exec, with abstract names.
//
// A port of the soft network is one abstract name, "verbena-soft-cm/<port>", so a port belongs to one process of the
// network namespace at a time, whatever addresses that process binds it with. An abstract name has no permissions:
// anyone may connect to one, or take one first. So both ends look at the other's credentials, which the kernel
// vouches for, and talk only to a process of their own effective user id.
//
// Thread: any; nothing here blocks. Errors: errno values.

#ifndef VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/control_socket.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// The abstract name of a port, without the leading zero byte.
std::string PortName(uint16_t port);

// Takes the port. EADDRINUSE if a process of this network namespace has it.
int BindPort(uint16_t port, UniqueFd* socket);
// From now on others can connect; they wait in the kernel until AcceptPeer.
int ListenOnPort(int socket);
// ECONNREFUSED: nobody listens. EAGAIN: too many wait there already. EACCES: the listener is another user's.
int ConnectToPort(uint16_t port, UniqueFd* socket, ucred* peer);
// EAGAIN: nobody waits. EACCES: the peer was another user's, and is disconnected.
int AcceptPeer(int port_socket, UniqueFd* socket, ucred* peer);

// EPIPE or ECONNRESET: the peer is gone. The descriptors stay the caller's.
int SendMessage(int socket, const CmMessage& message, absl::Span<const UniqueFd> fds);

Receipt ReceiveMessage(int socket, ReceivedMessage* received);

// The interface above these functions. `peer` is what ConnectToPort or AcceptPeer said.
std::unique_ptr<ControlSocket> MakeUnixControlSocket(UniqueFd socket, const ucred& peer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
