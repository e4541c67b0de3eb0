// ibv_modify_qp and ibv_query_qp.

#include <cerrno>

#include "transport/soft/gid_table.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/queue_pair_transitions.h"

namespace verbena::soft {

int QueuePair::Modify(const ibv_qp_attr& wish, int mask) {
  std::lock_guard one_at_a_time(modify_mu_);
  ibv_qp_state next;
  {
    std::lock_guard lock(mu_);
    next = (mask & IBV_QP_STATE) != 0 ? wish.qp_state : state;
    if (!TransitionIsAllowed(state, next, mask) ||
        !AttributesAreValid(wish, mask, LocalGidCount(), *surroundings_.profile) ||
        ((mask & IBV_QP_CUR_STATE) != 0 && wish.cur_qp_state != state)) {
      return EINVAL;
    }
    if (next == IBV_QPS_SQD && state != next) attributes_.en_sqd_async_notify = 0;  // Asked for each time.
    CopyAttributes(wish, mask, &attributes_);
    ApplyAttributes();
    if (next != IBV_QPS_RESET) ChangeState(next);
  }
  if (next == IBV_QPS_RESET) Reset();
  return 0;
}

void QueuePair::ApplyAttributes() {
  requester_.set_read_depth(attributes_.max_rd_atomic);
  responder_.set_min_rnr_timer(attributes_.min_rnr_timer);
  responder_.one_sided().set_read_depth(attributes_.max_dest_rd_atomic);
  responder_.one_sided().set_access(attributes_.qp_access_flags);
  patience_.Configure(attributes_.timeout, attributes_.retry_cnt);
  if (link_ != nullptr) link_->SetPatience(patience_.limit());
  if (pending_.memory == nullptr) return;
  EndControl& own = pending_.memory->pair().control.ends[pending_.own_end];
  own.state.domain.store(ProtectionDomain::Number(pd));
  own.state.access.store(attributes_.qp_access_flags);
  own.requests_out.rnr_retry.store(attributes_.rnr_retry);
}

void QueuePair::ChangeState(ibv_qp_state next) {
  if (next == state) return;
  if (next == IBV_QPS_ERR) return EnterError(IBV_WC_WR_FLUSH_ERR);
  bool drains = next == IBV_QPS_SQD;
  bool goes_on = state == IBV_QPS_SQD;
  state = next;
  draining_ = drains;
  if (drains) requester_.Pause();
  if (goes_on) requester_.Resume();
  if (drains || goes_on) AdvanceSends(Requester::Look::kAlways);
}

void QueuePair::NoticeDrain() {
  if (!draining_ || state != IBV_QPS_SQD || !requester_.drained()) return;
  draining_ = false;
  if (attributes_.en_sqd_async_notify == 0) return;
  surroundings_.async_events->RaiseForQueuePair(IBV_EVENT_SQ_DRAINED, this);
}

void QueuePair::NoticeFirstArrival() {
  if (arrival_told_ || !link_->requests_in().touched()) return;
  arrival_told_ = true;
  surroundings_.async_events->RaiseForQueuePair(IBV_EVENT_COMM_EST, this);
}

void QueuePair::Query(ibv_qp_attr* attributes, ibv_qp_init_attr* init_attributes) {
  std::lock_guard lock(mu_);
  *attributes = attributes_;
  attributes->qp_state = attributes->cur_qp_state = state;
  attributes->sq_draining = draining_ ? 1 : 0;
  attributes->cap = init_attributes_.cap;
  *init_attributes = init_attributes_;
}

std::optional<uint32_t> QueuePair::unlinked_peer_number() {
  std::lock_guard lock(mu_);
  if (!Receives() || pending_.memory != nullptr) return std::nullopt;
  return attributes_.dest_qp_num;
}

LinkParameters QueuePair::link_parameters() {
  std::lock_guard lock(mu_);
  return {.responder_resources = attributes_.max_dest_rd_atomic,
          .initiator_depth = attributes_.max_rd_atomic,
          .retry_count = attributes_.retry_cnt,
          .rnr_retry_count = attributes_.rnr_retry,
          .timeout = attributes_.timeout};
}

}  // namespace verbena::soft
