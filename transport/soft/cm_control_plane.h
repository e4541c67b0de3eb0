// The connection manager itself: one per process, shared by all its ids and channels.
//
// Its methods are the calls of cm_api.h, with values instead of raw structures; they return 0 or an errno value. It
// moves ids through the states of cm_id.h, driven by those calls and by what the control thread reads from sockets:
//
//   kIdle -> kBound -> kListening                                                                      (listener)
//         -> kBound -> kAddressResolved -> kRouteResolved -> kConnecting [-> kAnswered] -> kEstablished  (active)
//                                                  kRequested -> kAccepted ->              kEstablished  (passive)
//   kEstablished [-> kDisconnected] -> kClosed                                                           (both)
//
// A connection is one control socket at each end (cm_socket.h) and ends with it, whoever closes it and why. The queue
// pairs of ids are linked through link.h by what travels on that socket; the application's own are linked by itself.
//
// cm_control_plane.cc has sockets, deadlines and what the control thread reads; cm_ids.cc the ids, cm_events.cc their
// events, cm_queue_pairs.cc their queue pairs; cm_connect.cc the active side, cm_listen.cc the passive one,
// cm_addressing.cc the addresses.
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
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "transport/soft/cm_deadlines.h"
#include "transport/soft/cm_event_channel.h"
#include "transport/soft/cm_id.h"
#include "transport/soft/cm_locking.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/cm_port_table.h"
#include "transport/soft/cm_socket.h"
#include "transport/soft/control_io/control_thread.h"

namespace verbena::soft {

struct ControlLimits {
  // From a connect request to its answer, and from a reply to its confirmation. Then UNREACHABLE, -ETIMEDOUT.
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(20);
  // From a peer's connecting to a control socket to its request. Then it is disconnected.
  std::chrono::milliseconds silence_timeout = std::chrono::seconds(5);
  // Connected peers of one listening socket that have not sent their request yet. For one more the oldest is
  // disconnected: strangers who are silent keep nobody out, and those at one socket do not count at another.
  size_t silent_peers_max = 128;
  // Connect requests that a listener may have queued, at most and by default.
  int backlog_max = 1024;
  // From the end of a connection on both sides to TIMEWAIT_EXIT: what a queue pair number rests on a network where the
  // kernel assumes packets to live 4.096 us * 2^18.
  std::chrono::milliseconds timewait = std::chrono::milliseconds(1074);
  // How long a connect request looks for a listener before it is rejected for want of one, and how often. Programs
  // connect again while the peer still closes one listener and opens the next: on a fabric the time that addresses and
  // routes take to be resolved hides that, here it is no time at all.
  std::chrono::milliseconds listener_patience = std::chrono::milliseconds(50);
  std::chrono::milliseconds listener_interval = std::chrono::milliseconds(2);
};

class ControlPlane : private ControlThread::Delegate {
 public:
  explicit ControlPlane(const ControlLimits& limits) : limits_(limits) {}
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // Ids. Without a channel: a synchronous one. Null with errno set if there is no descriptor for its channel.
  CmId* CreateId(EventChannel* channel, void* context, rdma_port_space space);
  void DestroyId(CmId& id);
  int MigrateId(CmId& id, EventChannel* channel);
  int SetIpv6Only(CmId& id, bool ipv6_only);
  // As ibv_qp_attr::timeout, for connections made from now on. EINVAL: more than its five bits.
  int SetAckTimeout(CmId& id, uint8_t timeout);

  int GetEvent(EventChannel& channel, rdma_cm_event** event);
  void AckEvent(std::unique_ptr<QueuedEvent> event);
  // For a synchronous id: waits for its next event, keeps it in `id.event`, and returns the error that it stands for.
  int AwaitOutcome(CmId& id);
  // Acknowledges what a synchronous id keeps, if anything.
  void AcknowledgeKept(CmId& id);
  // To every id that is bound to the device.
  void Raise(rdma_cm_event_type type);

  int Bind(CmId& id, const SocketAddress& address);
  // `source` may be absent. The outcome comes as an event, before this returns.
  int ResolveAddress(CmId& id, const std::optional<SocketAddress>& source, const SocketAddress& destination);
  int ResolveRoute(CmId& id);
  int Listen(CmId& id, int backlog);

  int Connect(CmId& id, const ConnectionParameters& parameters, const PrivateData& private_data);
  int Establish(CmId& id);
  // Without parameters: those of the request.
  int Accept(CmId& id, const std::optional<ConnectionParameters>& parameters, const PrivateData& private_data);
  int Reject(CmId& id, uint8_t reason, const PrivateData& private_data);
  int Disconnect(CmId& id);
  int GetPeerCredentials(const CmId& id, ucred* credentials);
  int Notify(CmId& id, ibv_event_type event);
  // What ibv_modify_qp wants, to bring the id's queue pair into attributes->qp_state.
  int InitAttributes(CmId& id, ibv_qp_attr* attributes, int* mask);

  // Objects of an id; see cm_api.h. `domain` may be null.
  int MakeQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes);
  int MakeExtendedQueuePair(CmId& id, ibv_qp_init_attr_ex* attributes);
  void DropQueuePair(CmId& id);
  void ForgetQueuePair(ibv_qp* queue_pair);
  int MakeSharedReceiveQueue(CmId& id, ibv_pd* domain, ibv_srq_init_attr* attributes);
  void DropSharedReceiveQueue(CmId& id);

  // For pthread_atfork.
  void LockForFork();
  void UnlockAfterFork();
  // The same in the child: first it closes all sockets, those of linked streams too, and tells no peer.
  void AbandonSockets();

 private:
  using TimePoint = ControlThread::TimePoint;

  // A connected control socket.
  struct PeerSocket {
    std::unique_ptr<ControlSocket> control;
    uint32_t watched_events = 0;
    CmId* id = nullptr;     // Null until the peer has sent its request.
    uint64_t port_key = 0;  // Passive: of the listening socket that it came to, which may be gone.
  };

  // A listening one.
  struct PortSocket {
    PortTable::Socket socket;              // Owned by ports_.
    std::set<uint64_t> silent_peers = {};  // Keys of the sockets without an id that came to it: in order of age.
  };

  // Keys of sockets and deadlines count up from 1; those of sockets that peers connect to have this bit, those of ids
  // that wait the other one.
  static constexpr uint64_t kPortKeyBit = uint64_t{1} << 63;
  static constexpr uint64_t kWaitKeyBit = uint64_t{1} << 62;

  // ControlThread::Delegate.
  void OnReadable(uint64_t key) override;
  std::optional<TimePoint> OnTime(TimePoint now) override;

  // Everything below needs mu_.

  // Ids. Delete is for those that have no connection, no address and no events.
  CmId* NewId(rdma_port_space space);
  void Delete(CmId& id);
  // The application takes a connect request: 0, or an errno value, and then the request is rejected and forgotten.
  int TakeRequest(CmId& listener, CmId& request, EventChannel& channel);
  // An id waits in one of two ways: for a listener (kConnecting) or in timewait.
  void StartWaiting(CmId& id, std::chrono::milliseconds time);
  void StopWaiting(CmId& id);

  // Sockets and deadlines. AddSocket watches it and sets the deadline; 0 or an errno value, and then `fd` is closed.
  int AddSocket(PeerSocket socket, std::chrono::milliseconds timeout, uint64_t* key);
  void CloseSocket(uint64_t key);
  // The peer is not silent any more, or gone.
  void EndSilence(uint64_t key);
  void CloseConnection(CmId& id);
  // After a use of the socket: watches it for what it wants now.
  void Rewatch(uint64_t key);
  PeerSocket& SocketOf(const CmId& id) { return sockets_.at(id.socket_key); }
  void SetDeadline(uint64_t key, std::chrono::milliseconds timeout);
  void OnDeadline(uint64_t key);

  // Queue pairs. `make` makes one in `domain`: 0 or an errno value.
  using MakeInDomain = absl::FunctionRef<int(ibv_pd* domain, ibv_qp** made)>;
  int AdoptQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes, MakeInDomain make);

  // Events.
  void Post(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message = nullptr);
  void Push(std::unique_ptr<QueuedEvent> event);

  // What the control thread reads.
  void AcceptPeers(uint64_t key);
  void ReadRequest(uint64_t key);
  void ReadConnection(uint64_t key);
  void OnMessage(CmId& id, ReceivedMessage received);
  void OnRequest(uint64_t key, ReceivedMessage received);
  void OnReply(CmId& id, ReceivedMessage received);
  int Confirm(CmId& id);
  void OnConfirmation(CmId& id);
  void BecomeEstablished(CmId& id, const CmMessage* message);
  // The connection's socket ended, or its peer is not to be talked to.
  void OnConnectionEnd(CmId& id);

  // Ends. FailAttempt is for queue pairs that are not linked, BreakLink for those that are.
  void FailAttempt(CmId& id, rdma_cm_event_type type, int status, const CmMessage* message = nullptr);
  void BreakLink(CmId& id, rdma_cm_event_type type, int status);
  void SendReject(ControlSocket& socket, uint8_t reason, const PrivateData& private_data);
  // A request that the application has not seen: rejects it if the peer is still there, and forgets it.
  void DropRequest(CmId& request);
  void DropQueuedEvents(CmId& id);

  // By a fault plan a call of Connect takes so much longer. As in a kernel whose call waits for the network, who wants
  // to destroy the id or its queue pair waits for its return.
  void LingerInConnect(CmId& id, uint32_t milliseconds, ControlLock& lock);
  void AwaitReturnOfConnect(const CmId& id, ControlLock& lock);
  // Sends the request to the peer, or waits to try again. 0, or an error of this process.
  int Reach(CmId& id);
  // Whether the id will look for a listener again.
  bool WaitForListener(CmId& id);
  // The socket of an active end ended: over TCP that is how the want of a listener is found out.
  void OnAttemptEnd(CmId& id);
  int OpenSocket(const CmId& id, std::unique_ptr<ControlSocket>* socket);
  // What travels, with an offer of the id's queue pair or the answer to one, if the id has a queue pair.
  absl::StatusOr<CmMessage> MakeRequest(CmId& id, ControlSocket& socket, std::vector<UniqueFd>* fds);
  absl::StatusOr<CmMessage> MakeReply(CmId& id, const ConnectionParameters& agreed, std::vector<UniqueFd>* fds);

  // Addresses and listening.
  int WatchPort(CmId& id);
  int AcceptFrom(PortTable::Socket port, std::unique_ptr<ControlSocket>* accepted);
  void ReleasePort(CmId& id);
  int BindLocked(CmId& id, const SocketAddress& address);
  void SetSource(CmId& id, const SocketAddress& source);
  void SetDestination(CmId& id, const SocketAddress& destination);
  static void SetPath(CmId& id);

  // Constant after construction.
  const ControlLimits limits_;

  std::mutex mu_;
  std::condition_variable event_acknowledged_;
  std::condition_variable connect_returned_;
  std::unordered_set<CmId*> ids_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<const ibv_qp*, CmId*> owners_ ABSL_GUARDED_BY(mu_);  // Of the queue pairs made here.
  ibv_pd* default_domain_ ABSL_GUARDED_BY(mu_) = nullptr;                 // Made on first use; the process'.
  PortTable ports_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<uint64_t, PortSocket> port_sockets_ ABSL_GUARDED_BY(mu_);  // Of listeners.
  std::map<uint64_t, PeerSocket> sockets_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<uint64_t, CmId*> waiting_ ABSL_GUARDED_BY(mu_);
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
