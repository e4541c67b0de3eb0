// A reliable-connected queue pair: its state, and the coordination of requester, responder and link.
//
// States: RESET after creation; INIT (receives may be posted); RTR (messages are received); RTS (sends may be posted);
// SQD (sends that have not begun wait); ERR after a failure, a disconnect or ibv_modify_qp. SQE does not occur on a
// reliable connection. queue_pair_transitions.h has the rules of ibv_modify_qp.
//
// The link with the peer comes on its own: from the connection manager, which takes a queue pair in INIT to RTS, or,
// for programs that move their queue pairs to RTR and RTS themselves, from OutOfBand, some time after RTR. Until it is
// there, posted sends wait.
//
// On the way to ERR: the peer is told, the send queue and the receives in the own queue are flushed, and a queue pair
// with a shared receive queue raises LAST_WQE_REACHED.
//
// A peer that has closed is no failure in itself. Requests that it has not carried out, and those that are posted
// later, fail as retry exceeded when the retries of a NIC would be used up; the progress thread's supervision keeps
// that time, by PeerPatience. No turn that the application's polls give reads a clock for it.
//
// Owner: the application, as an ibv_qp. Thread: any; one lock around everything but the order of ibv_modify_qp calls,
// see completion_channel.h.

#ifndef VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_H_
#define VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/soft/async_events.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/device_health.h"
#include "transport/soft/extended_posting.h"
#include "transport/soft/extensible.h"
#include "transport/soft/key_table.h"
#include "transport/soft/link.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/peer_patience.h"
#include "transport/soft/profile.h"
#include "transport/soft/queue_pair_faults.h"
#include "transport/soft/requester.h"
#include "transport/soft/responder.h"
#include "transport/soft/spin_lock.h"

namespace verbena::soft {

class QueuePair final : public ExtensibleQueuePair, public ProgressTarget, public WireTarget {
 public:
  struct Surroundings {
    uint32_t index;   // In this process.
    uint32_t number;  // qp_num.
    const PublishedMemory* own_memory;
    KeyTable* keys;
    AsyncEvents* async_events;
    const DeviceHealth* health;
    const Profile* profile;
    ProgressThread* progress_thread;
  };

  // `attributes` are within the device's limits.
  QueuePair(ibv_pd* domain, const ibv_qp_init_attr& attributes, const Surroundings& surroundings);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  // Waits for acknowledgement of asynchronous events. After Withdraw.
  ~QueuePair();

  // Tells the peer, reports to no completion queue and has no turns any more, and unbinds the windows; the peer does
  // not copy from or into our memory then. Waits for a copy that has begun, at most kHazardPatience.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mu_);

  // ibv_post_send, ibv_post_recv.
  int PostSend(const ibv_send_wr* requests, const ibv_send_wr** bad_request);
  int PostReceive(const ibv_recv_wr* requests, const ibv_recv_wr** bad_request);
  // Posts all of them or none; errors as PostSend. The requests' `next` is not looked at.
  int PostSendWhole(absl::Span<const ibv_send_wr> requests);

  // IBV_QP_INIT_ATTR_SEND_OPS_FLAGS: lets the queue pair be used as an ibv_qp_ex. Before anybody else knows it.
  void EnableExtendedPosting(uint64_t operations);
  // Null unless enabled.
  ExtendedPosting* extended_posting() const { return extended_posting_.get(); }

  // ibv_modify_qp, ibv_query_qp. Back in RESET the queue pair has forgotten its link, its windows and all that was
  // posted; nothing of that completes.
  int Modify(const ibv_qp_attr& attributes, int mask);
  void Query(ibv_qp_attr* attributes, ibv_qp_init_attr* init_attributes);

  // For the progress thread, while there are requests that the peer has not carried out, a long copy of our own before
  // them, or a request of the peer's that waits for a limited time: has a turn, and looks whether the peer is alive.
  // When to call again; none: not before the next ProgressThread::Supervise.
  std::optional<PeerPatience::Clock::time_point> Supervise(PeerPatience::Clock::time_point now);

  void Progress() override;
  bool MayHaveNews() const override;
  uint32_t ServeWire() override;
  // `attendance` is kept, and released before anything else of the queue pair is destroyed.
  void SetAttendance(std::shared_ptr<void> attendance) { attendance_ = std::move(attendance); }

  // The number of the peer that the application wants by ibv_modify_qp; nothing unless the queue pair is ready to
  // receive and neither linked nor about to be.
  std::optional<uint32_t> unlinked_peer_number();
  // What an offer without a connection manager says.
  LinkParameters link_parameters();

  // Linking, in this order. The offering end makes the pair's memory and keeps it until the answer comes.
  absl::Status BeginLink(std::shared_ptr<SharedMapping> memory, int own_end, const LinkParameters& own);
  // Forgets what BeginLink was given, unless the link is complete.
  void AbandonLink();
  struct PendingLink {
    std::shared_ptr<SharedMapping> memory;
    int own_end;
  };
  // What BeginLink was given; fails if it was not called, or the link is complete.
  absl::StatusOr<PendingLink> pending_link();
  // In INIT, which is a connection manager's link, the queue pair is RTS afterwards; `peer` is what the peer asked for:
  // its patience is our senders', and no more READs are outstanding at once than both ends are ready for. Else
  // ibv_modify_qp says all that.
  absl::Status CompleteLink(std::unique_ptr<PairLink> link, const LinkParameters& peer);

  // The peer's process or queue pair is gone: see link.h.
  void PeerGone();
  // The same without a connection manager, to which no NIC would say so: only what is sent fails.
  void PeerVanished();

  // The device has failed: ERR, whatever the state was.
  void Abort();

  // Something else than the peer gave this queue pair work to go on with.
  void AskForProgress();

  // From now on; see fault_plan.h.
  void SetFaults(FaultPlan plan);

  // The peer that may copy from and into our memory, for those who wait for the end of that; `memory` keeps its hazard
  // word. Nothing if there is no such peer, or if waiting is hopeless: see PeerCopiesForEver.
  struct CopyingPeer {
    std::shared_ptr<SharedMapping> memory;
    Copier copier;
  };
  std::optional<CopyingPeer> copying_peer();

  // That peer seems to copy for longer than kHazardPatience: it is broken and the queue pair goes to ERR. It is not
  // waited for again.
  void PeerCopiesForEver(const CopyingPeer& peer);

  // What the queue pair shares with its peer; null if they are not linked.
  std::shared_ptr<SharedMapping> link_memory();

  uint32_t index() const { return surroundings_.index; }
  CompletionQueue& send_completions() const { return *static_cast<CompletionQueue*>(send_cq); }
  CompletionQueue& receive_completions() const { return *static_cast<CompletionQueue*>(recv_cq); }

 private:
  bool MayPostSends() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FaultRefusesPost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int PostOne(const ibv_send_wr& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ApplyFaultsOfNewestPost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishPosting(std::unique_lock<SpinLock> lock);        // Of `mu_`, which is released.
  void CarryOutDeviceFault(std::unique_lock<SpinLock> lock);  // Of `mu_`, which is released.
  void BeginFaultyPoll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RaiseLastWqe() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskForSupervision() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PeerPatience::Signs SignsOfPeer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ProbePeer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LosePeer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AdvanceSends(Requester::Look look) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AdvanceBoth(Requester::Look look) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AdvanceRequester(Requester::Look look, CopyPace::Occasion occasion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Settle(bool healthy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EnterError(ibv_wc_status oldest_status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PushWire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MuteWire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AddWire(const Wire& wire);
  // What befalls the link before its first request. PermissionDenied: it cannot be as the one-sided policy demands.
  absl::Status ApplyFaultsOfLink(PairLink& link) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseLink() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells requester, responder and peer what the attributes are now.
  void ApplyAttributes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ChangeState(ibv_qp_state next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AttachToQueues() ABSL_LOCKS_EXCLUDED(mu_);
  void DetachFromQueues() ABSL_LOCKS_EXCLUDED(mu_);
  void Reset() ABSL_LOCKS_EXCLUDED(mu_);
  // In SQD: tells once that everything begun is finished.
  void NoticeDrain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // In RTR: tells once that the peer uses the connection already.
  void NoticeFirstArrival() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Receives() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Surroundings surroundings_;
  const ibv_qp_init_attr init_attributes_;
  std::unique_ptr<ExtendedPosting> extended_posting_;  // Constant once the queue pair is known.

  std::mutex modify_mu_;  // One ibv_modify_qp at a time.
  SpinLock mu_;           // Also guards ibv_qp::state.
  Requester requester_ ABSL_GUARDED_BY(mu_);
  Responder responder_ ABSL_GUARDED_BY(mu_);
  PendingLink pending_ ABSL_GUARDED_BY(mu_) = {};
  std::unique_ptr<PairLink> link_ ABSL_GUARDED_BY(mu_);
  bool wire_muted_ ABSL_GUARDED_BY(mu_) = false;
  bool copies_for_ever_ ABSL_GUARDED_BY(mu_) = false;  // The peer, as it says.
  std::shared_ptr<void> attendance_;                   // Of the wire.
  std::atomic<PairLink*> visible_link_{nullptr};       // link_, for MayHaveNews.
  bool draining_ ABSL_GUARDED_BY(mu_) = false;         // In SQD, and something that was begun is not finished.
  bool arrival_told_ ABSL_GUARDED_BY(mu_) = false;     // COMM_EST was raised.
  ibv_qp_attr attributes_ ABSL_GUARDED_BY(mu_) = {};   // As set; without states and capacities.
  std::unique_ptr<QueuePairFaults> faults_ ABSL_GUARDED_BY(mu_);  // Null: none.
  PeerPatience patience_ ABSL_GUARDED_BY(mu_);
  uint64_t probes_ ABSL_GUARDED_BY(mu_) = 0;
  bool supervised_ ABSL_GUARDED_BY(mu_) = false;  // By the progress thread.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_H_
