#include "transport/soft/testing/raw_states.h"

#include "transport/soft/device.h"

namespace verbena::soft {

ibv_qp_attr ReadyToReceive(uint32_t peer) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr.port_num = 1;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = peer;
  attributes.rq_psn = 0x42;
  attributes.max_dest_rd_atomic = 4;
  attributes.min_rnr_timer = 12;
  return attributes;
}

ibv_qp_attr ReadyToSend() {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 6;
  attributes.rnr_retry = 7;
  attributes.sq_psn = 0x24;
  attributes.max_rd_atomic = 3;
  return attributes;
}

int ToReset(ibv_qp* queue_pair) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RESET;
  return ModifyQueuePair(queue_pair, &attributes, IBV_QP_STATE);
}

int ToInit(ibv_qp* queue_pair) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  return ModifyQueuePair(queue_pair, &attributes, kInitMask);
}

int ToReadyToReceive(ibv_qp* queue_pair, uint32_t peer) {
  ibv_qp_attr attributes = ReadyToReceive(peer);
  return ModifyQueuePair(queue_pair, &attributes, kReadyToReceiveMask);
}

int ToReadyToSend(ibv_qp* queue_pair, uint32_t peer) {
  if (int error = ToInit(queue_pair); error != 0) return error;
  if (int error = ToReadyToReceive(queue_pair, peer); error != 0) return error;
  ibv_qp_attr attributes = ReadyToSend();
  return ModifyQueuePair(queue_pair, &attributes, kReadyToSendMask);
}

}  // namespace verbena::soft
