// The calls on TCP sockets that the stream wire makes. All sockets are non-blocking, close-on-exec, without Nagle's
// delay.
//
// Thread: any; nothing here blocks. Errors: errno values.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_TCP_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_TCP_SOCKET_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "transport/soft/cm_address.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// Begins to connect, from `source` if that is not a wildcard. When the socket is writable, ConnectOutcome says how it
// went.
int BeginConnect(const SocketAddress& source, const SocketAddress& destination, UniqueFd* socket);
int ConnectOutcome(int socket);

// Holds exactly this address and port. EADDRINUSE: somebody else does.
enum class PortClaim {
  kAsked,   // Connections of the port's last life do not count, and whoever listens first has it, as with all servers.
  kChosen,  // Nobody else may have it, and so nobody can before ListenTcp.
};
int BindTcp(const SocketAddress& address, PortClaim claim, UniqueFd* socket);
int ListenTcp(int socket);
// EAGAIN: nobody waits.
int AcceptTcp(int listener, UniqueFd* socket);

// Both ends of a connection; nothing if it is not connected, or not any more.
struct Ends {
  SocketAddress own;
  SocketAddress peer;
};
std::optional<Ends> EndsOf(int socket);
// The same in words, that of the end that connected first. Empty if there are none.
std::string NameEnds(int socket, bool connected_by_us);

// How long the far host may leave bytes unacknowledged, or not answer while there are none, before the connection is
// broken. Zero leaves it to the kernel.
void SetPatience(int socket, std::chrono::milliseconds patience);

// The source address that this host would use to reach `destination`, without a port; nothing was sent. ENETUNREACH and
// the like if there is no way.
int FindSource(const SocketAddress& destination, SocketAddress* source);

// What one call could do: bytes, or 0 with the error. `error` is EAGAIN when nothing can be done now, 0 at the end of
// the stream.
struct Transfer {
  size_t bytes = 0;
  int error = 0;
};
Transfer ReadSome(int socket, absl::Span<std::byte> to);
Transfer WriteSome(int socket, absl::Span<const absl::Span<const std::byte>> pieces);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_TCP_SOCKET_H_
