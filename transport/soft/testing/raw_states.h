// For tests: moves queue pairs through their states as programs without a connection manager do.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_RAW_STATES_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_RAW_STATES_H_

#include <infiniband/verbs.h>

#include <cstdint>

namespace verbena::soft {

inline constexpr uint32_t kNobody = 0;  // A number that no queue pair has.

inline constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kReadyToReceiveMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kReadyToSendMask =
    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

ibv_qp_attr ReadyToReceive(uint32_t peer);
ibv_qp_attr ReadyToSend();

// One step each, from the state before. 0 or an errno value.
int ToReset(ibv_qp* queue_pair);
int ToInit(ibv_qp* queue_pair);
int ToReadyToReceive(ibv_qp* queue_pair, uint32_t peer);
// All the way from RESET.
int ToReadyToSend(ibv_qp* queue_pair, uint32_t peer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_RAW_STATES_H_
