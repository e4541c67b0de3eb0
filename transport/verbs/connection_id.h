// A connection-manager id: the control-plane end of one connection, or of one listener.
//
// Every call that starts something (ResolveAddress, Connect, Accept, …) only starts it; the outcome is a CmEvent on the
// id's event channel. The life of an active end: Create, ResolveAddress, ResolveRoute, QueuePair::Create, Connect,
// Disconnect; of a passive one: it comes out of a connect request (CmEvent::TakeRequest), QueuePair::Create, Accept,
// Disconnect; of a listener: Create, Bind, Listen.
//
// Owner: the caller. Its event channel must outlive it, and its queue pair must be gone before it. Thread: the one that
// reads its event channel; destroying an id while another thread reads its events is a race in librdmacm.

#ifndef VERBENA_TRANSPORT_VERBS_CONNECTION_ID_H_
#define VERBENA_TRANSPORT_VERBS_CONNECTION_ID_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

// What both ends say about themselves when they connect.
struct ConnectionParameters {
  absl::Span<const std::byte> private_data;  // At most 56 bytes on Connect, 196 on Accept (RDMA_PS_TCP).
  uint8_t responder_resources = 1;           // READs that the peer may have in flight at us.
  uint8_t initiator_depth = 1;               // READs that we may have in flight at the peer.
  uint8_t retry_count = 7;                   // Transport retries, 0..7. Ignored by Accept.
  uint8_t rnr_retry_count = 7;               // Retries after "receiver not ready"; 7 = for ever.
};

class ConnectionId {
 public:
  // For the reliable-connected port space (RDMA_PS_TCP).
  static absl::StatusOr<ConnectionId> Create(CmEventChannel& channel);
  // Takes over an id that the connection manager made for a connect request.
  static ConnectionId Adopt(const VerbsApi& api, rdma_cm_id* id) { return ConnectionId(OwnedId(api, id)); }

  absl::Status Bind(const sockaddr* address);
  // To the other's local address, on any free port: then both belong to one device.
  absl::Status BindBeside(const ConnectionId& other);
  absl::Status Listen(int backlog);
  // `source` may be null: any. Then ADDR_RESOLVED or ADDR_ERROR; after the former device_context() is set.
  absl::Status ResolveAddress(const sockaddr* source, const sockaddr* destination, absl::Duration timeout);
  absl::Status ResolveRoute(absl::Duration timeout);
  absl::Status Connect(const ConnectionParameters& parameters);  // On iWARP devices it waits for TCP.
  absl::Status Accept(const ConnectionParameters& parameters);
  absl::Status Reject(absl::Span<const std::byte> private_data);  // At most 148 bytes.
  absl::Status Disconnect();  // On iWARP devices it waits for an answer that is outstanding.

  // Moves the id and its future events to another channel, which must outlive it from here on. No event of this id may
  // be unread in the old channel.
  absl::Status MigrateTo(CmEventChannel& channel);

  // How long the device waits for an acknowledgement before it retries; rounded up to 4.096 us * 2^n, the longest being
  // 2.4 hours. Before a route is resolved, or before Accept. Unimplemented on rdma-core or kernels without it.
  absl::Status SetAckTimeout(absl::Duration timeout);
  // Lets a listener bind a port that old connections still hold. Before Bind.
  absl::Status SetReuseAddress();

  std::string LocalAddress() const;  // For people: "192.0.2.1:7471", "[2001:db8::1]:7471".
  std::string PeerAddress() const;
  uint16_t LocalPort() const;  // Host byte order; the real one after Bind to port 0.
  // The kernel's word on the peer's process, once the connection is accepted or established. Unimplemented: this
  // device, or the way to this peer, has none.
  absl::StatusOr<ucred> PeerCredentials() const;

  // The device's context, not owned by us; null until an address is bound or resolved to a device.
  ibv_context* device_context() const { return id_->verbs; }
  rdma_cm_id* get() const { return id_.get(); }  // Compare with CmEvent::id.
  const VerbsApi& api() const { return id_.api(); }

 private:
  using OwnedId = OwnedObject<rdma_cm_id, &VerbsApi::cm_destroy_id>;

  explicit ConnectionId(OwnedId id) : id_(std::move(id)) {}
  absl::Status Outcome(absl::string_view operation, int result) const;

  OwnedId id_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_CONNECTION_ID_H_
