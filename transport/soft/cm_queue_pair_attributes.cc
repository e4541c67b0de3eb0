#include "transport/soft/cm_queue_pair_attributes.h"

namespace verbena::soft {
namespace {

constexpr int kAllRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint8_t kHopLimit = 64;

}  // namespace

int AttributesForInit(ibv_qp_attr* attributes) {
  attributes->qp_state = IBV_QPS_INIT;
  attributes->qp_access_flags = kAllRemoteAccess;
  attributes->pkey_index = 0;
  attributes->port_num = kDevicePort;
  return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

// Packet sequence numbers start at 0 on both sides: nothing numbers packets here.
int AttributesForReadyToReceive(const SocketAddress& peer, const Agreement& agreement, ibv_qp_attr* attributes) {
  attributes->qp_state = IBV_QPS_RTR;
  attributes->ah_attr = {};
  attributes->ah_attr.is_global = 1;
  attributes->ah_attr.port_num = kDevicePort;
  attributes->ah_attr.grh.dgid = peer.ToGid();
  attributes->ah_attr.grh.hop_limit = kHopLimit;
  attributes->path_mtu = IBV_MTU_4096;
  attributes->dest_qp_num = agreement.peer_queue_pair_number;
  attributes->rq_psn = 0;
  attributes->max_dest_rd_atomic = agreement.parameters.responder_resources;
  attributes->min_rnr_timer = 0;
  return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER;
}

int AttributesForReadyToSend(const Agreement& agreement, uint8_t ack_timeout, ibv_qp_attr* attributes) {
  attributes->qp_state = IBV_QPS_RTS;
  attributes->timeout = ack_timeout;
  attributes->retry_cnt = agreement.parameters.retry_count;
  attributes->rnr_retry = agreement.parameters.rnr_retry_count;
  attributes->sq_psn = 0;
  attributes->max_rd_atomic = agreement.parameters.initiator_depth;
  return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
}

}  // namespace verbena::soft
