// One connected control socket: what two connection managers talk over, and how queue pairs are linked by what it is.
//
// Within a host it is a Unix socket whose messages carry descriptors of shared memory (cm_socket.h). The connection
// manager sees only this interface: it sends and receives messages, has the socket watched, and hands link offers on.
//
// Owner: ControlPlane, under whose mutex every call is made. Nothing here blocks. Errors are errno values.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_SOCKET_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_SOCKET_H_

#include <infiniband/verbs.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/control_io/unix_socket.h"
#include "transport/soft/link.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

struct ReceivedMessage {
  CmMessage message;
  std::vector<UniqueFd> fds;  // At most kLinkOfferFdsMax.
};

class ControlSocket {
 public:
  virtual ~ControlSocket() = default;

  // The descriptor to watch, always the same one, and the epoll events to watch it for, which may be others after
  // Send and Receive.
  virtual int fd() const = 0;
  virtual uint32_t wanted_events() const { return EPOLLIN; }

  // EPIPE or ECONNRESET: the peer is gone. The descriptors stay the caller's.
  virtual int Send(const CmMessage& message, absl::Span<const UniqueFd> fds) = 0;
  virtual Receipt Receive(ReceivedMessage* received) = 0;
  // The kernel's word on the peer's process; nothing where it has none.
  virtual std::optional<ucred> peer() const { return std::nullopt; }
  // Why Receive said kEnd.
  virtual int end_reason() const { return ECONNRESET; }

  // The three functions of link.h of these names, with the peer at the other end of this socket.
  virtual absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* queue_pair, const LinkParameters& parameters) = 0;
  virtual absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* queue_pair, LinkOffer offer,
                                                const LinkParameters& parameters) = 0;
  virtual absl::Status CompleteOffer(ibv_qp* queue_pair, LinkOffer answer) = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_SOCKET_H_
