// What the connection manager knows about a queue pair, in the form that ibv_modify_qp takes (rdma_init_qp_attr(3)).
//
// Each function sets what its state needs, the state included, and returns the mask. Pure. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_CM_QUEUE_PAIR_ATTRIBUTES_H_
#define VERBENA_TRANSPORT_SOFT_CM_QUEUE_PAIR_ATTRIBUTES_H_

#include <infiniband/verbs.h>

#include "transport/soft/cm_address.h"
#include "transport/soft/cm_agreement.h"

namespace verbena::soft {

inline constexpr uint8_t kDevicePort = 1;  // The device's only one.

int AttributesForInit(ibv_qp_attr* attributes);
// The agreement knows the peer.
int AttributesForReadyToReceive(const SocketAddress& peer, const Agreement& agreement, ibv_qp_attr* attributes);
// `ack_timeout` as in ibv_qp_attr.
int AttributesForReadyToSend(const Agreement& agreement, uint8_t ack_timeout, ibv_qp_attr* attributes);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_QUEUE_PAIR_ATTRIBUTES_H_
