#include "transport/soft/queue_pair_transitions.h"

#include <algorithm>
#include <iterator>

namespace verbena::soft {
namespace {

struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

constexpr int kInitial = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kToReady =
    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToSend = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kWhileReady = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kWhileDrained = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
                              IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;

// RESET and ERR can be entered from everywhere and are not listed. A reliable connection is never in SQE. Alternate
// paths, which the specification allows on some of these ways, are for devices with path migration.
constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kInitial, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInitial},
    {IBV_QPS_INIT, IBV_QPS_RTR, kToReady, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, kToSend, kWhileReady},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kWhileReady},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kWhileReady},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, kWhileDrained},
};

// The attributes with an upper limit; those without are flags, structures, and numbers of packets.
struct Limit {
  int attribute;
  uint32_t value;
  uint32_t max;
};

bool PathIsValid(const ibv_ah_attr& path, int gid_count) {
  return path.port_num <= 1 && (path.is_global == 0 || path.grh.sgid_index < gid_count);
}

}  // namespace

bool TransitionIsAllowed(ibv_qp_state from, ibv_qp_state to, int mask) {
  mask &= ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return mask == 0;
  const Transition* found = std::find_if(std::begin(kTransitions), std::end(kTransitions),
                                         [=](const Transition& each) { return each.from == from && each.to == to; });
  if (found == std::end(kTransitions)) return false;
  return (mask & found->required) == found->required && (mask & ~(found->required | found->optional)) == 0;
}

bool AttributesAreValid(const ibv_qp_attr& attributes, int mask, int gid_count, const Profile& profile) {
  constexpr unsigned kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  const Limit limits[] = {
      {IBV_QP_PKEY_INDEX, attributes.pkey_index, 0},
      {IBV_QP_PATH_MTU, attributes.path_mtu, IBV_MTU_4096},
      {IBV_QP_DEST_QPN, attributes.dest_qp_num, (1u << 24) - 1},
      {IBV_QP_MIN_RNR_TIMER, attributes.min_rnr_timer, 31},
      {IBV_QP_TIMEOUT, attributes.timeout, 31},
      {IBV_QP_RETRY_CNT, attributes.retry_cnt, 7},
      {IBV_QP_RNR_RETRY, attributes.rnr_retry, 7},
      {IBV_QP_MAX_QP_RD_ATOMIC, attributes.max_rd_atomic, profile.reads_max},
      {IBV_QP_MAX_DEST_RD_ATOMIC, attributes.max_dest_rd_atomic, profile.reads_served_max},
      {IBV_QP_PATH_MIG_STATE, attributes.path_mig_state, IBV_MIG_MIGRATED},
  };
  bool within = std::all_of(std::begin(limits), std::end(limits), [=](const Limit& limit) {
    return (mask & limit.attribute) == 0 || limit.value <= limit.max;
  });
  return within && ((mask & IBV_QP_PATH_MTU) == 0 || attributes.path_mtu >= IBV_MTU_256) &&
         ((mask & IBV_QP_PORT) == 0 || attributes.port_num == 1) &&
         ((mask & IBV_QP_ACCESS_FLAGS) == 0 || (attributes.qp_access_flags & ~kAccess) == 0) &&
         ((mask & IBV_QP_AV) == 0 || PathIsValid(attributes.ah_attr, gid_count));
}

void CopyAttributes(const ibv_qp_attr& from, int mask, ibv_qp_attr* to) {
  constexpr uint32_t kPacketNumbers = (1u << 24) - 1;
  if ((mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0) to->en_sqd_async_notify = from.en_sqd_async_notify;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to->qp_access_flags = from.qp_access_flags;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to->pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to->port_num = from.port_num;
  if ((mask & IBV_QP_AV) != 0) to->ah_attr = from.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) to->path_mtu = from.path_mtu;
  if ((mask & IBV_QP_TIMEOUT) != 0) to->timeout = from.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to->retry_cnt = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to->rnr_retry = from.rnr_retry;
  if ((mask & IBV_QP_RQ_PSN) != 0) to->rq_psn = from.rq_psn & kPacketNumbers;
  if ((mask & IBV_QP_SQ_PSN) != 0) to->sq_psn = from.sq_psn & kPacketNumbers;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to->max_rd_atomic = from.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to->max_dest_rd_atomic = from.max_dest_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to->min_rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0) to->path_mig_state = from.path_mig_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) to->dest_qp_num = from.dest_qp_num;
}

}  // namespace verbena::soft
