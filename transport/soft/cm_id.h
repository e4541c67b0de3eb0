// A connection-manager id: the application's rdma_cm_id with what the connection manager knows about it.
//
// Owner: the application, from CmCreateId or the CONNECT_REQUEST event that offers it to CmDestroyId; until the event
// is taken, ControlPlane. The fields below are guarded by ControlPlane::mu_; for those of rdma_cm_id see cm_locking.h.

#ifndef VERBENA_TRANSPORT_SOFT_CM_ID_H_
#define VERBENA_TRANSPORT_SOFT_CM_ID_H_

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstdint>
#include <vector>

#include "transport/soft/cm_address.h"
#include "transport/soft/cm_event_channel.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

enum class IdState {
  kIdle,             // Nothing yet. The application's turn.
  kBound,            // Holds a source address and port. The application's turn.
  kAddressResolved,  // Active. The application's turn: resolve the route.
  kRouteResolved,    // Active. The application's turn: connect.
  kListening,        // Peers make connect requests.
  kConnecting,       // Active. REQUEST sent; the peer answers, or a deadline ends it.
  kRequested,        // Passive. REQUEST received; the application accepts or rejects, or the peer gives up.
  kAccepted,         // Passive. REPLY sent; the peer confirms, or a deadline ends it.
  kEstablished,      // Until either side disconnects.
  kClosed,           // A connection or an attempt is over. Only to be destroyed.
};

struct CmId : rdma_cm_id {
  explicit CmId(rdma_port_space space) : rdma_cm_id{} { ps = space; }
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;

  EventChannel& event_channel() const { return *static_cast<EventChannel*>(channel); }
  bool has_connection() const { return socket_key != 0; }

  IdState state = IdState::kIdle;
  SocketAddress source;       // From kBound on.
  SocketAddress destination;  // Of a connection.
  bool ipv6_only = false;     // RDMA_OPTION_ID_AFONLY.

  uint32_t events_unacknowledged = 0;  // Taken by the application; accounted to this id.

  // A listener's.
  int backlog = 0;          // Connect requests that may be queued; more are rejected.
  int requests_queued = 0;  // Not yet taken by the application.

  // A connection's.
  uint64_t socket_key = 0;    // In ControlPlane's socket table; 0 = none.
  CmId* listener = nullptr;   // Passive, until the request is taken.
  CmMessage request;          // Passive: what the peer asked for.
  std::vector<UniqueFd> fds;  // Passive: what came with it, until accepted.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_ID_H_
