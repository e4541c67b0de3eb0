#include "transport/soft/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/device.h"
#include "transport/soft/process_faults.h"
#include "transport/soft/protection_domain.h"

namespace verbena::soft {
namespace {

Requester::Options RequesterOptions(ibv_pd* domain, const ibv_qp_init_attr& attributes,
                                    const QueuePair::Surroundings& surroundings) {
  return {
      .queue_pair_number = surroundings.number,
      .queue_pair_index = surroundings.index,
      .domain = ProtectionDomain::Number(domain),
      .answer_target_access =
          uint32_t{IBV_ACCESS_LOCAL_WRITE} | (surroundings.profile->iwarp ? uint32_t{IBV_ACCESS_REMOTE_WRITE} : 0),
      .signal_all = attributes.sq_sig_all != 0,
      .capacity = attributes.cap,
      .own_memory = surroundings.own_memory,
      .keys = surroundings.keys,
      .completions = static_cast<CompletionQueue*>(attributes.send_cq),
  };
}

Responder::Options ResponderOptions(ibv_pd* domain, const ibv_qp_init_attr& attributes,
                                    const QueuePair::Surroundings& surroundings) {
  return {
      .queue_pair_number = surroundings.number,
      .queue_pair_index = surroundings.index,
      .receive_domain = ProtectionDomain::Number(attributes.srq != nullptr ? attributes.srq->pd : domain),
      .domain = ProtectionDomain::Number(domain),
      .receives_max = attributes.srq != nullptr ? 0 : attributes.cap.max_recv_wr,
      .segments_max = attributes.srq != nullptr ? 0 : attributes.cap.max_recv_sge,
      .shared_receives = static_cast<SharedReceiveQueue*>(attributes.srq),
      .own_memory = surroundings.own_memory,
      .keys = surroundings.keys,
      .completions = static_cast<CompletionQueue*>(attributes.recv_cq),
  };
}

}  // namespace

QueuePair::QueuePair(ibv_pd* domain, const ibv_qp_init_attr& attributes, const Surroundings& surroundings)
    : surroundings_(surroundings),
      init_attributes_(attributes),
      requester_(RequesterOptions(domain, attributes, surroundings)),
      responder_(ResponderOptions(domain, attributes, surroundings)) {
  context = domain->context;
  qp_context = attributes.qp_context;
  pd = domain;
  send_cq = attributes.send_cq;
  recv_cq = attributes.recv_cq;
  srq = attributes.srq;
  handle = surroundings.index;
  qp_num = surroundings.number;
  state = IBV_QPS_RESET;
  qp_type = IBV_QPT_RC;
  AttachToQueues();
  SetFaults(FaultsOfNewObject(FaultObject::kQueuePair));
}

QueuePair::~QueuePair() {
  if (IsForkedChild()) return;  // Another thread of the parent may have held any of the locks.
  surroundings_.async_events->Forget(static_cast<ibv_qp*>(this));
}

void QueuePair::AttachToQueues() {
  send_completions().Attach(index(), this);
  receive_completions().Attach(index(), this);
}

void QueuePair::DetachFromQueues() {
  if (&send_completions() != &receive_completions()) send_completions().Detach(index());
  receive_completions().Detach(index());
  surroundings_.progress_thread->Leave(this);
  // Last: whoever lets the queue pair have a turn can make it wait there again.
  if (srq != nullptr) static_cast<SharedReceiveQueue*>(srq)->StopWaiting({&receive_completions(), index()});
}

// In this order: a closed link lets the peer begin no copy, and what may be copied stays until the last one has ended.
void QueuePair::Withdraw() {
  {
    std::lock_guard lock(mu_);
    CloseLink();
    state = IBV_QPS_RESET;
  }
  attendance_.reset();
  DetachFromQueues();
  if (std::optional<CopyingPeer> peer = copying_peer(); peer.has_value()) {
    AwaitEndOfCopies(peer->copier, kAnyKey, PeerPatience::Clock::now() + kHazardPatience);
  }
  surroundings_.keys->InvalidateWindowsOf(qp_num);
}

// No queue may be looking at the link when it goes, and none does once the queue pair is detached from it.
void QueuePair::Reset() {
  Withdraw();
  {
    std::lock_guard lock(mu_);
    visible_link_.store(nullptr);
    link_.reset();
    wire_muted_ = false;
    pending_ = {};
    copies_for_ever_ = false;
    attributes_ = {};
    draining_ = arrival_told_ = supervised_ = false;
    patience_.Rest();
    std::destroy_at(&requester_);
    std::construct_at(&requester_, RequesterOptions(pd, init_attributes_, surroundings_));
    std::destroy_at(&responder_);
    std::construct_at(&responder_, ResponderOptions(pd, init_attributes_, surroundings_));
    responder_.set_faults(faults_.get());
  }
  AttachToQueues();
}

int QueuePair::PostSend(const ibv_send_wr* requests, const ibv_send_wr** bad_request) {
  std::unique_lock lock(mu_);
  if (!MayPostSends()) {
    *bad_request = requests;
    return EINVAL;
  }
  int error = 0;
  for (; requests != nullptr; requests = requests->next) {
    error = FaultRefusesPost() ? ENOMEM : PostOne(*requests);
    if (error != 0) {
      *bad_request = requests;
      break;
    }
  }
  FinishPosting(std::move(lock));
  return error;
}

int QueuePair::PostSendWhole(absl::Span<const ibv_send_wr> requests) {
  if (IsForkedChild()) return ENODEV;  // This way in is not among those that InstallDeadDataPath closes.
  std::unique_lock lock(mu_);
  if (!MayPostSends()) return EINVAL;
  for (const ibv_send_wr& request : requests) {
    if (int error = requester_.Check(request); error != 0) return error;
    if (int error = surroundings_.profile->Refuses(request); error != 0) return error;
  }
  if (requester_.free_places() < requests.size()) {  // Perhaps the peer has accepted some meanwhile.
    AdvanceSends(Requester::Look::kAlways);
  }
  const bool has_room = requester_.free_places() >= requests.size() && requester_.Reserve(requests.size());
  if (!has_room || FaultRefusesPost()) return ENOMEM;
  for (const ibv_send_wr& request : requests) PostOne(request);
  FinishPosting(std::move(lock));
  return 0;
}

void QueuePair::FinishPosting(std::unique_lock<SpinLock> lock) {
  AdvanceSends(Requester::Look::kIfWanted);
  requester_.KeepInlineBytes();
  PushWire();
  CarryOutDeviceFault(std::move(lock));
}

// Under no lock: a failing device visits every queue pair.
void QueuePair::CarryOutDeviceFault(std::unique_lock<SpinLock> lock) {
  FaultKind fault = FaultKind::kPortUp;
  bool befallen = faults_ != nullptr && faults_->TakeDeviceFault(&fault);
  lock.unlock();
  if (!befallen) return;
  if (fault == FaultKind::kDeviceFatal) return RaiseDeviceFatal();
  RaisePortEvent(fault == FaultKind::kPortUp);
}

void QueuePair::EnableExtendedPosting(uint64_t operations) {
  extended_posting_ = std::make_unique<ExtendedPosting>(this, init_attributes_.cap, operations);
}

bool QueuePair::MayPostSends() const { return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_ERR; }

bool QueuePair::Receives() const { return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD; }

bool QueuePair::FaultRefusesPost() { return faults_ != nullptr && faults_->RefusesSend(); }

int QueuePair::PostOne(const ibv_send_wr& request) {
  if (int error = surroundings_.profile->Refuses(request); error != 0) return error;
  int error = requester_.Append(request);
  if (error == ENOMEM) {
    AdvanceSends(Requester::Look::kAlways);  // Perhaps the peer has accepted some meanwhile.
    error = requester_.Append(request);
  }
  if (error == 0 && faults_ != nullptr) ApplyFaultsOfNewestPost();
  return error;
}

void QueuePair::ApplyFaultsOfNewestPost() {
  faults_->CountRequest();
  requester_.HoldCompletions(faults_->holds_sends());
  PlannedFaults& planned = requester_.faults_of_newest();
  if (auto failure = faults_->Take(FaultKind::kFailRequest)) planned.failure = failure->status;
  if (auto trickle = faults_->Take(FaultKind::kTrickle)) planned.bytes_per_turn = trickle->amount;
  planned.drops_empty = faults_->Befalls(FaultKind::kDropEmpty);
  if (state != IBV_QPS_RTS || link_ == nullptr) return;
  if (faults_->Befalls(FaultKind::kLoseDoorbell)) link_->LoseNextDoorbell();
  if (faults_->Befalls(FaultKind::kDoubleDoorbell)) link_->Insist();
  if (faults_->Befalls(FaultKind::kDisconnect)) LosePeer();
}

void QueuePair::AskForProgress() {
  receive_completions().MarkReady(index());
  if (&send_completions() != &receive_completions()) send_completions().MarkReady(index());
}

void QueuePair::SetFaults(FaultPlan plan) {
  std::lock_guard lock(mu_);
  faults_ = plan.empty() ? nullptr : std::make_unique<QueuePairFaults>(std::move(plan));
  responder_.set_faults(faults_.get());
}

void PlanFaults(ibv_qp* queue_pair, FaultPlan plan) { static_cast<QueuePair*>(queue_pair)->SetFaults(std::move(plan)); }

int QueuePair::PostReceive(const ibv_recv_wr* requests, const ibv_recv_wr** bad_request) {
  std::lock_guard lock(mu_);
  if (state == IBV_QPS_RESET || srq != nullptr) {
    *bad_request = requests;
    return EINVAL;
  }
  int error = 0;
  for (; requests != nullptr && error == 0; requests = requests->next) {
    error = faults_ != nullptr && faults_->RefusesReceive() ? ENOMEM : responder_.Append(*requests);
    if (error != 0) *bad_request = requests;
  }
  if (state == IBV_QPS_ERR) {
    responder_.Flush();
  } else if (responder_.parked()) {
    AdvanceBoth(Requester::Look::kIfWanted);
    PushWire();
  }
  return error;
}

void QueuePair::Progress() {
  std::lock_guard lock(mu_);
  if (faults_ != nullptr) BeginFaultyPoll();
  AdvanceBoth(Requester::Look::kIfWanted);
  PushWire();
  if (faults_ != nullptr && faults_->waits()) AskForProgress();
}

void QueuePair::BeginFaultyPoll() {
  if (faults_->BeginPoll()) RaiseLastWqe();
  requester_.HoldCompletions(faults_->holds_sends());
}

bool QueuePair::MayHaveNews() const {
  const PairLink* link = visible_link_.load(std::memory_order_acquire);
  return link != nullptr && link->MayHaveNews();
}

void QueuePair::AdvanceSends(Requester::Look look) {
  if (state == IBV_QPS_ERR) return requester_.Flush(IBV_WC_WR_FLUSH_ERR);
  if (link_ != nullptr && surroundings_.health->port_is_up()) {
    Settle(AdvanceRequester(look, CopyPace::Occasion::kPost));
  }
  NoticeDrain();
  if (!requester_.idle()) AskForSupervision();
}

// What may end the queue pair does not wait until somebody asks; and a plan counts turns that are all alike.
bool QueuePair::AdvanceRequester(Requester::Look look, CopyPace::Occasion occasion) {
  if (link_->peer_refused() || faults_ != nullptr) look = Requester::Look::kAlways;
  return requester_.Advance(*link_, look, occasion);
}

// The order matters. What the peer published is fixed first; then acceptances are taken in, then messages are
// delivered: so no reply is delivered before its request is complete, unless that went ahead of a READ. While messages
// arrive, acceptances that nobody waits for can wait for a turn without one.
void QueuePair::AdvanceBoth(Requester::Look look) {
  if (link_ == nullptr || !Receives() || !surroundings_.health->port_is_up()) return;
  link_->Pull(Wire::Reach::kWhatIsThere);
  const size_t unread = link_->requests_in().unread();
  link_->requests_in().Refresh();
  if (state == IBV_QPS_RTR) NoticeFirstArrival();
  const bool arrived = link_->requests_in().unread() > unread;
  if (link_->requests_in().unread() == 0) look = Requester::Look::kAlways;
  bool healthy = AdvanceRequester(look, arrived ? CopyPace::Occasion::kArrival : CopyPace::Occasion::kTurn);
  if (faults_ == nullptr || !faults_->holds_receives()) healthy = responder_.Advance(*link_) && healthy;
  Settle(healthy);
  NoticeDrain();
  if (requester_.awaits_peer() || responder_.parked_for_a_time()) AskForSupervision();
}

void QueuePair::Settle(bool healthy) {
  bool lost_completion = requester_.lost_completion() || responder_.lost_completion();
  if (link_->broken() || lost_completion) {
    surroundings_.async_events->RaiseForQueuePair(IBV_EVENT_QP_FATAL, this);
    EnterError(IBV_WC_FATAL_ERR);
  } else if (!healthy) {
    if (auto violation = responder_.violation()) surroundings_.async_events->RaiseForQueuePair(*violation, this);
    EnterError(IBV_WC_WR_FLUSH_ERR);
  } else if (requester_.unfinished_copy() || responder_.unfinished_answer()) {
    AskForProgress();
  }
}

void QueuePair::EnterError(ibv_wc_status oldest_status) {
  state = IBV_QPS_ERR;
  visible_link_.store(nullptr);  // No news matter any more.
  // What was carried out is not flushed, unless it went ahead of a READ that was not.
  if (link_ != nullptr && !link_->broken()) requester_.TakeIn(*link_);
  CloseLink();
  requester_.Flush(oldest_status);
  responder_.Flush();
  if (srq == nullptr || !surroundings_.profile->last_wqe_events) return;
  if (faults_ == nullptr || !faults_->WithholdsLastWqe()) return RaiseLastWqe();
  AskForProgress();
}

void QueuePair::RaiseLastWqe() { surroundings_.async_events->RaiseForQueuePair(IBV_EVENT_QP_LAST_WQE_REACHED, this); }

void QueuePair::CloseLink() {
  if (IsForkedChild()) return;
  if (link_ != nullptr) {
    link_->Close();
    if (link_->wire() != nullptr) MuteWire();
  } else if (pending_.memory != nullptr) {
    pending_.memory->pair().control.ends[pending_.own_end].state.closed.store(1);
  }
}

void QueuePair::PeerGone() {
  std::lock_guard lock(mu_);
  if (link_ == nullptr || !Receives()) return;
  LosePeer();
}

void QueuePair::PeerCopiesForEver(const CopyingPeer& peer) {
  std::lock_guard lock(mu_);
  if (link_ == nullptr || link_->memory() != peer.memory) return;
  copies_for_ever_ = true;
  if (Receives()) LosePeer();
}

void QueuePair::PeerVanished() {
  std::lock_guard lock(mu_);
  if (link_ == nullptr) return;
  link_->LosePeer();
  AdvanceBoth(Requester::Look::kAlways);
}

void QueuePair::LosePeer() {
  if (link_->direct() != nullptr) link_->direct()->Abandon();
  link_->Pull(Wire::Reach::kToTheEnd);
  AdvanceBoth(Requester::Look::kAlways);
  if (Receives()) EnterError(IBV_WC_RETRY_EXC_ERR);
}

void QueuePair::Abort() {
  std::lock_guard lock(mu_);
  if (state != IBV_QPS_ERR) EnterError(IBV_WC_WR_FLUSH_ERR);
}

}  // namespace verbena::soft
