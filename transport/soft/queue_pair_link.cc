// QueuePair: how it comes to its link.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"

namespace verbena::soft {

absl::Status QueuePair::BeginLink(std::shared_ptr<SharedMapping> memory, int own_end, const LinkParameters& own) {
  std::lock_guard lock(mu_);
  if ((state != IBV_QPS_INIT && !Receives()) || pending_.memory != nullptr) {
    return absl::FailedPreconditionError("the queue pair is linked already, or in a state in which it cannot be");
  }
  pending_ = {.memory = std::move(memory), .own_end = own_end};
  if (state == IBV_QPS_INIT) {
    attributes_.path_mtu = IBV_MTU_4096;
    attributes_.timeout = own.timeout;
    attributes_.max_dest_rd_atomic = own.responder_resources;
    attributes_.max_rd_atomic = own.initiator_depth;
    attributes_.retry_cnt = own.retry_count;
    attributes_.rnr_retry = own.rnr_retry_count;
  }
  ApplyAttributes();
  return absl::OkStatus();
}

void QueuePair::AbandonLink() {
  std::lock_guard lock(mu_);
  if (link_ == nullptr) pending_ = {};
}

absl::StatusOr<QueuePair::PendingLink> QueuePair::pending_link() {
  std::lock_guard lock(mu_);
  if (pending_.memory == nullptr || link_ != nullptr) {
    return absl::FailedPreconditionError("the queue pair has made no offer, or it was answered already");
  }
  return pending_;
}

absl::Status QueuePair::CompleteLink(std::unique_ptr<PairLink> link, const LinkParameters& peer) {
  if (int error = surroundings_.progress_thread->Start(); error != 0) {
    return absl::ErrnoToStatus(error, "starting the thread of the soft device");
  }
  if (link->wire() != nullptr) {
    if (absl::Status status = AddWire(*link->wire()); !status.ok()) return status;
  }
  {
    std::lock_guard lock(mu_);
    if ((state != IBV_QPS_INIT && !Receives()) || link_ != nullptr) {
      return absl::FailedPreconditionError("the queue pair left the state in which it can be linked");
    }
    if (absl::Status status = ApplyFaultsOfLink(*link); !status.ok()) return status;
    link_ = std::move(link);
    attributes_.dest_qp_num = link_->peer_queue_pair_number();
    if (state == IBV_QPS_INIT) {
      attributes_.rnr_retry = peer.rnr_retry_count;
      attributes_.max_rd_atomic = std::min(attributes_.max_rd_atomic, peer.responder_resources);
      state = IBV_QPS_RTS;
    }
    ApplyAttributes();
    visible_link_.store(link_.get(), std::memory_order_release);
  }
  // The peer may have sent before this: its ready bits were taken by polls that could not use them.
  AskForProgress();
  return absl::OkStatus();
}

absl::Status QueuePair::ApplyFaultsOfLink(PairLink& link) {
  if (faults_ == nullptr) return absl::OkStatus();
  if (auto narrow = faults_->Take(FaultKind::kNarrowRing)) link.NarrowRings(narrow->amount);
  if (link.direct() == nullptr || !faults_->Befalls(FaultKind::kRefuseDirect)) return absl::OkStatus();
  link.RefuseDirect();
  absl::StatusOr<OneSidedPolicy> policy = TheOneSidedPolicy();
  bool required = policy.ok() && *policy == OneSidedPolicy::kDirect;
  return required ? NoDirectAccess("refused by a fault plan") : absl::OkStatus();
}

std::optional<QueuePair::CopyingPeer> QueuePair::copying_peer() {
  std::lock_guard lock(mu_);
  if (link_ == nullptr || copies_for_ever_) return std::nullopt;
  std::optional<Copier> copier = link_->copier();
  if (!copier.has_value()) return std::nullopt;
  return CopyingPeer{.memory = link_->memory(), .copier = *copier};
}

std::shared_ptr<SharedMapping> QueuePair::link_memory() {
  std::lock_guard lock(mu_);
  return link_ == nullptr ? nullptr : link_->memory();
}

}  // namespace verbena::soft
