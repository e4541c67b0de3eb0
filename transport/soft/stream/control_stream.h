// A control socket over TCP: handshake, then the connection manager's messages, then the wire of the queue pair.
//
// A message is its length (u32, little-endian) and what EncodeMessage makes of it. An active end may be given its
// request before it is connected: it goes out when both ends welcome each other. A request says between which addresses
// the peer believes to connect; what this host's kernel says takes its place.
//
// Bounds: nothing is allocated for a peer but this object before it is welcome, and it is read no further than the part
// that is awaited. Time limits and the number of peers that have not made a request are the connection manager's.
//
// Owner and thread: as ControlSocket. Errors: errno values.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_CONTROL_STREAM_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_CONTROL_STREAM_H_

#include <memory>

#include "transport/soft/cm_address.h"
#include "transport/soft/control_socket.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// Reasons of the rejections that the handshake makes, of the InfiniBand specification's table 111.
inline constexpr uint8_t kRejectUnsupported = 5;    // About the shared secret: one has none, or they differ.
inline constexpr uint8_t kRejectOtherVersion = 31;  // Invalid class version.

// EACCES: the secret file cannot be used, for a reason that is said on standard error.
int CheckSecretFile();

// Begins to connect. A refusal by the handshake comes as a message, a rejection; one by the destination as the end, for
// ECONNREFUSED.
int OpenControlStream(const SocketAddress& source, const SocketAddress& destination,
                      std::unique_ptr<ControlSocket>* socket);

// EAGAIN: nobody waits at `listener`.
int AcceptControlStream(int listener, std::unique_ptr<ControlSocket>* socket);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_CONTROL_STREAM_H_
