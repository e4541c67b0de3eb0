// ControlPlane::InitAttributes: what the connection manager knows about a queue pair that the application connects
// itself, in the form that ibv_modify_qp takes (rdma_init_qp_attr(3)).

#include <cerrno>

#include "transport/soft/cm_control_plane.h"

namespace verbena::soft {
namespace {

constexpr int kAllRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint8_t kHopLimit = 64;
constexpr uint8_t kTimeout = 18;  // 4.096 us * 2^18, about a second: the kernel's, on Ethernet.

int ForInit(const CmId& id, ibv_qp_attr* attributes) {
  attributes->qp_access_flags = kAllRemoteAccess;
  attributes->pkey_index = 0;
  attributes->port_num = id.port_num;
  return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

// Packet sequence numbers start at 0 on both sides: nothing numbers packets here.
int ForReadyToReceive(const CmId& id, ibv_qp_attr* attributes) {
  attributes->ah_attr = {};
  attributes->ah_attr.is_global = 1;
  attributes->ah_attr.port_num = id.port_num;
  attributes->ah_attr.grh.dgid = id.destination.ToGid();
  attributes->ah_attr.grh.hop_limit = kHopLimit;
  attributes->path_mtu = IBV_MTU_4096;
  attributes->dest_qp_num = id.agreement.peer_queue_pair_number;
  attributes->rq_psn = 0;
  attributes->max_dest_rd_atomic = id.agreement.parameters.responder_resources;
  attributes->min_rnr_timer = 0;
  return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER;
}

int ForReadyToSend(const CmId& id, ibv_qp_attr* attributes) {
  attributes->timeout = kTimeout;
  attributes->retry_cnt = id.agreement.parameters.retry_count;
  attributes->rnr_retry = id.agreement.parameters.rnr_retry_count;
  attributes->sq_psn = 0;
  attributes->max_rd_atomic = id.agreement.parameters.initiator_depth;
  return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
}

}  // namespace

int ControlPlane::InitAttributes(CmId& id, ibv_qp_attr* attributes, int* mask) {
  ControlLock lock(mu_);
  if (id.verbs == nullptr) return EINVAL;
  switch (attributes->qp_state) {
    case IBV_QPS_INIT:
      *mask = ForInit(id, attributes);
      return 0;
    case IBV_QPS_RTR:
      if (!id.agreement.peer_known) return EINVAL;
      *mask = ForReadyToReceive(id, attributes);
      return 0;
    case IBV_QPS_RTS:
      if (!id.agreement.peer_known) return EINVAL;
      *mask = ForReadyToSend(id, attributes);
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace verbena::soft
