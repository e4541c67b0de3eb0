// ibv_modify_qp and ibv_query_qp.

#include <cerrno>

#include "transport/soft/queue_pair.h"

namespace verbena::soft {
namespace {

constexpr uint8_t kRnrRetryMax = 7;
constexpr uint8_t kRnrTimerMax = 31;

// Accepted; port and partition describe a network that is not there.
constexpr int kKnownAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
                                 IBV_QP_RNR_RETRY | IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT | IBV_QP_PKEY_INDEX |
                                 IBV_QP_PORT | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;

}  // namespace

int QueuePair::Modify(const ibv_qp_attr& attributes, int mask) {
  std::lock_guard lock(mu_);
  if ((mask & ~kKnownAttributes) != 0) return EINVAL;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != state) return EINVAL;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && attributes.min_rnr_timer > kRnrTimerMax) return EINVAL;
  if ((mask & IBV_QP_RNR_RETRY) != 0 && attributes.rnr_retry > kRnrRetryMax) return EINVAL;
  if ((mask & IBV_QP_STATE) != 0) {
    if (int error = ModifyState(attributes.qp_state); error != 0) return error;
  }
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) access_ = attributes.qp_access_flags;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) responder_.set_min_rnr_timer(attributes.min_rnr_timer);
  if ((mask & IBV_QP_RNR_RETRY) != 0) rnr_retry_ = attributes.rnr_retry;
  if ((mask & IBV_QP_RETRY_CNT) != 0) parameters_.retry_count = attributes.retry_cnt;
  if ((mask & IBV_QP_TIMEOUT) != 0) parameters_.timeout = attributes.timeout;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) parameters_.initiator_depth = attributes.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) parameters_.responder_resources = attributes.max_dest_rd_atomic;
  ApplyAttributes();
  return 0;
}

int QueuePair::ModifyState(ibv_qp_state next) {
  if (next == state) return 0;
  switch (next) {
    case IBV_QPS_ERR:
      if (state == IBV_QPS_RESET) return EINVAL;
      EnterError(IBV_WC_WR_FLUSH_ERR);
      return 0;
    case IBV_QPS_INIT:
      if (state != IBV_QPS_RESET) return EINVAL;
      state = IBV_QPS_INIT;
      return 0;
    case IBV_QPS_RESET:  // Only before it was linked: a link is for one life.
      if (state != IBV_QPS_INIT || pending_.memory != nullptr) return EINVAL;
      state = IBV_QPS_RESET;
      return 0;
    default:
      return EINVAL;
  }
}

void QueuePair::Query(ibv_qp_attr* attributes, ibv_qp_init_attr* init_attributes) {
  std::lock_guard lock(mu_);
  *attributes = {};
  attributes->qp_state = attributes->cur_qp_state = state;
  attributes->path_mtu = IBV_MTU_4096;
  attributes->dest_qp_num = link_ != nullptr ? link_->peer_queue_pair_number() : 0;
  attributes->qp_access_flags = access_;
  attributes->cap = init_attributes_.cap;
  attributes->max_rd_atomic = parameters_.initiator_depth;
  attributes->max_dest_rd_atomic = parameters_.responder_resources;
  attributes->min_rnr_timer = responder_.min_rnr_timer();
  attributes->port_num = 1;
  attributes->timeout = parameters_.timeout;
  attributes->retry_cnt = parameters_.retry_count;
  attributes->rnr_retry = rnr_retry_;
  *init_attributes = init_attributes_;
}

}  // namespace verbena::soft
