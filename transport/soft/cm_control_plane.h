// The connection manager itself: one per process, shared by all its ids and channels.
//
// Its methods are the calls of cm_api.h, with values instead of raw structures; they return 0 or an errno value. It
// moves ids through the states of cm_id.h, driven by those calls and by what the control thread reads from sockets:
//
//   kIdle -> kBound -> kListening                                              (listener)
//         -> kBound -> kAddressResolved -> kRouteResolved -> kConnecting -> kEstablished -> kClosed  (active)
//                                                  kRequested -> kAccepted -> kEstablished -> kClosed  (passive)
//
// A connection is one control socket at each end (cm_socket.h) and ends with it, whoever closes it and why. The queue
// pairs are linked through link.h by what travels on that socket. cm_control_plane.cc has ids, events and sockets;
// cm_connect.cc the active side, cm_listen.cc the passive one, cm_addressing.cc the addresses.
//
// Threads and locks: cm_locking.h. All fields but the limits are guarded by mu_.

#ifndef VERBENA_TRANSPORT_SOFT_CM_CONTROL_PLANE_H_
#define VERBENA_TRANSPORT_SOFT_CM_CONTROL_PLANE_H_

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "transport/soft/cm_control_thread.h"
#include "transport/soft/cm_deadlines.h"
#include "transport/soft/cm_event_channel.h"
#include "transport/soft/cm_id.h"
#include "transport/soft/cm_locking.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/cm_port_table.h"
#include "transport/soft/cm_socket.h"

namespace verbena::soft {

struct ControlLimits {
  // From a connect request to its answer, and from a reply to its confirmation. Then UNREACHABLE, -ETIMEDOUT.
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(20);
  // From a peer's connecting to a control socket to its request. Then it is disconnected.
  std::chrono::milliseconds silence_timeout = std::chrono::seconds(5);
  // Connected peers that have not sent their request yet. More are disconnected at once.
  size_t silent_peers_max = 128;
  // Connect requests that a listener may have queued, at most and by default.
  int backlog_max = 1024;
};

class ControlPlane : private ControlThread::Delegate {
 public:
  explicit ControlPlane(const ControlLimits& limits) : limits_(limits) {}
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  CmId* CreateId(EventChannel& channel, void* context, rdma_port_space space);
  void DestroyId(CmId& id);
  void MigrateId(CmId& id, EventChannel& channel);
  int SetIpv6Only(CmId& id, bool ipv6_only);

  int GetEvent(EventChannel& channel, rdma_cm_event** event);
  void AckEvent(std::unique_ptr<QueuedEvent> event);

  int Bind(CmId& id, const SocketAddress& address);
  // `source` may be absent. The outcome comes as an event, before this returns.
  int ResolveAddress(CmId& id, const std::optional<SocketAddress>& source, const SocketAddress& destination);
  int ResolveRoute(CmId& id);
  int Listen(CmId& id, int backlog);

  int Connect(CmId& id, const ConnectionParameters& parameters, const PrivateData& private_data);
  // Without parameters: those of the request.
  int Accept(CmId& id, const std::optional<ConnectionParameters>& parameters, const PrivateData& private_data);
  int Reject(CmId& id, const PrivateData& private_data);
  int Disconnect(CmId& id);

  int MakeQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes);
  void DropQueuePair(CmId& id);

  // For pthread_atfork.
  void LockForFork() { mu_.lock(); }
  void UnlockAfterFork() { mu_.unlock(); }
  // In the child, with the lock held: closes all sockets.
  void AbandonSockets();

 private:
  using TimePoint = ControlThread::TimePoint;

  // A connected control socket.
  struct PeerSocket {
    std::unique_ptr<ControlSocket> control;
    uint32_t watched_events = 0;
    CmId* id = nullptr;  // Null until the peer has sent its request.
  };

  // The control thread's keys: those of port sockets have this bit and the port, those of connections count up from 1.
  static constexpr uint64_t kPortKeyBit = uint64_t{1} << 63;
  static constexpr uint64_t PortKey(uint16_t port) { return kPortKeyBit | port; }

  // ControlThread::Delegate.
  void OnReadable(uint64_t key) override;
  std::optional<TimePoint> OnTime(TimePoint now) override;

  // Everything below needs mu_.

  // Sockets and deadlines. AddSocket watches it and sets the deadline; 0 or an errno value, and then `fd` is closed.
  int AddSocket(PeerSocket socket, std::chrono::milliseconds timeout, uint64_t* key);
  void CloseSocket(uint64_t key);
  void CloseConnection(CmId& id);
  // After a use of the socket: watches it for what it wants now.
  void Rewatch(uint64_t key);
  PeerSocket& SocketOf(const CmId& id) { return sockets_.at(id.socket_key); }
  void SetDeadline(uint64_t key, std::chrono::milliseconds timeout);
  void OnDeadline(uint64_t key);

  // Events.
  void Post(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message = nullptr);

  // What the control thread reads.
  void AcceptPeers(uint16_t port);
  void ReadRequest(uint64_t key);
  void ReadConnection(uint64_t key);
  void OnMessage(CmId& id, ReceivedMessage received);
  void OnRequest(uint64_t key, ReceivedMessage received);
  void OnReply(CmId& id, ReceivedMessage received);
  // The connection's socket ended, or its peer is not to be talked to.
  void OnConnectionEnd(CmId& id);

  // Ends. FailAttempt is for queue pairs that are not linked, BreakLink for those that are.
  void FailAttempt(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message = nullptr);
  void BreakLink(CmId& id, rdma_cm_event_type type, int status);
  void SendReject(ControlSocket& socket, uint8_t reason, const PrivateData& private_data);
  // A request that the application has not seen: rejects it if the peer is still there, and forgets it.
  void DropRequest(CmId& request);
  void DropQueuedEvents(CmId& id);

  // Addresses.
  int BindLocked(CmId& id, const SocketAddress& address);
  void SetSource(CmId& id, const SocketAddress& source);

  // Constant after construction.
  const ControlLimits limits_;

  std::mutex mu_;
  std::condition_variable event_acknowledged_;
  PortTable ports_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, PeerSocket> sockets_ ABSL_GUARDED_BY(mu_);
  size_t silent_peers_ ABSL_GUARDED_BY(mu_) = 0;  // Sockets without an id.
  uint64_t last_key_ ABSL_GUARDED_BY(mu_) = 0;
  Deadlines deadlines_ ABSL_GUARDED_BY(mu_);
  ControlThread thread_{*this};  // Last: its destructor stops what uses the rest.
};

// What rdma_cm's callers expect in errno for an engine's status.
int ErrnoOf(const absl::Status& status);

// Moves an unlinked queue pair, if there is one, to ERR: posted receives are flushed.
void MoveToError(ibv_qp* queue_pair);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_CONTROL_PLANE_H_
