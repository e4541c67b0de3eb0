// A connection-manager id: the application's rdma_cm_id with what the connection manager knows about it.
//
// Owner: the application, from CmCreateId or the CONNECT_REQUEST event that offers it to CmDestroyId; until the event
// is taken, ControlPlane. The fields below are guarded by ControlPlane::mu_; for those of rdma_cm_id see cm_locking.h.

#ifndef VERBENA_TRANSPORT_SOFT_CM_ID_H_
#define VERBENA_TRANSPORT_SOFT_CM_ID_H_

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/soft/cm_address.h"
#include "transport/soft/cm_agreement.h"
#include "transport/soft/cm_event_channel.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/link.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

enum class IdState {
  kIdle,             // Nothing yet. The application's turn.
  kBound,            // Holds a source address and port. The application's turn.
  kAddressResolved,  // Active. The application's turn: resolve the route.
  kRouteResolved,    // Active. The application's turn: connect.
  kListening,        // Peers make connect requests.
  kConnecting,       // Active. REQUEST sent, or a listener looked for; the peer answers, or a deadline ends it.
  kAnswered,         // Active, with a queue pair that the application connects itself. Its turn: establish.
  kRequested,        // Passive. REQUEST received; the application accepts or rejects, or the peer gives up.
  kAccepted,         // Passive. REPLY sent; the peer confirms, or a deadline ends it.
  kEstablished,      // Until either side disconnects.
  kDisconnected,     // The peer ended it. The application's turn: disconnect too.
  kClosed,           // A connection or an attempt is over. Only to be destroyed.
};

struct CmId : rdma_cm_id {
  explicit CmId(rdma_port_space space) : rdma_cm_id{} { ps = space; }
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;

  EventChannel& event_channel() const { return *static_cast<EventChannel*>(channel); }
  bool has_connection() const { return socket_key != 0; }
  // Its calls wait for their outcome (rdma_create_id(3), "channel").
  bool synchronous() const { return own_channel != nullptr; }

  IdState state = IdState::kIdle;
  SocketAddress source;                            // From kBound on.
  SocketAddress destination;                       // Of a connection.
  bool over_tcp = false;                           // How that is reached.
  bool ipv6_only = false;                          // RDMA_OPTION_ID_AFONLY.
  uint8_t ack_timeout = LinkParameters().timeout;  // RDMA_OPTION_ID_ACK_TIMEOUT.

  uint32_t events_unacknowledged = 0;  // Taken by the application; accounted to this id.
  uint32_t events_queued = 0;          // Not taken yet; accounted to this id.

  EventChannel::Owned own_channel;  // `channel`, if the id is synchronous.

  // An endpoint's (CmCreateEp).
  std::optional<ibv_qp_init_attr> queue_pair_wish;  // Passive: for each connection.
  std::vector<std::byte> private_data_prefix;       // Active: of the request.

  // A listener's.
  int backlog = 0;                  // Connect requests that may be queued; more are rejected.
  int requests_queued = 0;          // Not yet taken by the application.
  std::vector<uint64_t> port_keys;  // Of its sockets, in ControlPlane's table.

  // A connection's.
  uint64_t socket_key = 0;        // In ControlPlane's socket table; 0 = none.
  uint64_t wait_key = 0;          // In ControlPlane's table of those that wait for a time; 0 = not waiting.
  bool offered = false;           // Active: the request offers `qp`, so the reply is to have an offer too.
  CmId* listener = nullptr;       // Passive, until the request is taken.
  bool confirmation_due = false;  // Passive: established by CmNotify, before READY_TO_USE.
  // Passive: what the peer asked for, until accepted. Active: parameters and data of Connect, until there is a reply.
  // Of what comes to nothing it stays.
  std::unique_ptr<CmMessage> request;
  bool lose_request = false;                           // Active: by a fault plan.
  bool in_connect = false;                             // Active: a call of Connect lingers, by a fault plan.
  std::chrono::milliseconds confirmation_lateness{0};  // Passive: by a fault plan.
  bool confirmation_withheld = false;                  // Passive: it has come, and is late.
  // Active: until then it looks for a listener.
  std::chrono::steady_clock::time_point patience_end;
  Agreement agreement;        // For CmInitQpAttr.
  std::vector<UniqueFd> fds;  // Passive: what came with it, until accepted.
  ibv_sa_path_rec path = {};  // What route.path_rec points to.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_ID_H_
