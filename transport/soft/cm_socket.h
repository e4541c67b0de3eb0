// The connection manager's control sockets: those of unix_socket.h, one abstract name for each address and port.
//
// An address of the soft network, with its port, is one abstract name, "verbena-soft-cm/<address>/<port>", and belongs
// to one process of the network namespace at a time. Who connects looks for the address itself, then for the wildcard
// of its family: so one process may have the wildcard, and another a specific address of the same port, which goes
// before it.
//
// Thread: any; nothing here blocks. Errors: errno values, as unix_socket.h has them.

#ifndef VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "transport/soft/cm_address.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/control_io/unix_socket.h"
#include "transport/soft/control_socket.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// The abstract name of an address with its port, without the leading zero byte. Scopes are not in it.
std::string NameOf(const SocketAddress& address);

int BindAddress(const SocketAddress& address, UniqueFd* socket);
int ListenAtAddress(int socket);
int ConnectToAddress(const SocketAddress& destination, UniqueFd* socket, ucred* peer);

// EPIPE or ECONNRESET: the peer is gone. The descriptors stay the caller's.
int SendMessage(int socket, const CmMessage& message, absl::Span<const UniqueFd> fds);

Receipt ReceiveMessage(int socket, ReceivedMessage* received);

// The interface above these functions. `peer` is what ConnectToAddress or AcceptPeer said.
std::unique_ptr<ControlSocket> MakeUnixControlSocket(UniqueFd socket, const ucred& peer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_SOCKET_H_
