// The calls of struct verbs_context, which inline functions of <infiniband/verbs.h> find behind an ibv_context, and the
// other extended calls of the verbs API. Conventions and errors are those of the man pages.
//
// A member that stays null makes its inline function answer EOPNOTSUPP: XRC, flow steering, work queues, device memory,
// counters, packet pacing. Those three members whose inline function would rather call into libibverbs, which must
// never see this context, are always filled (query_port, query_device_ex, create_qp_ex). Two inline functions go to the
// library whatever is here, and so work only where this device *is* the library: ibv_create_qp_ex asked for nothing but
// a protection domain, and ibv_create_srq_ex for a basic queue.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_EXTENDED_CALLS_H_
#define VERBENA_TRANSPORT_SOFT_EXTENDED_CALLS_H_

#include <infiniband/verbs.h>

#include "transport/soft/profile.h"

namespace verbena::soft {

// Makes `context->context` an extended context of a device like `profile`.
void InstallExtendedCalls(const Profile& profile, verbs_context* context);

// ibv_qp_to_qp_ex: null unless the queue pair was made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS.
ibv_qp_ex* ExtendedQueuePair(ibv_qp* queue_pair);

// What ibv_create_qp_ex, ibv_create_srq_ex and ibv_create_cq_ex do, whatever they are asked for.
ibv_qp* CreateQueuePairExtended(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_srq* CreateSharedReceiveQueueExtended(ibv_context* context, ibv_srq_init_attr_ex* attributes);
ibv_cq_ex* CreateCompletionQueueExtended(ibv_context* context, ibv_cq_init_attr_ex* attributes);

// The first `size` bytes of the attributes: a program may have been compiled with fewer members.
int QueryDeviceExtended(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                        size_t size);
int QueryPortSized(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size);
int QueryRealTimeValues(ibv_context* context, ibv_values_ex* values);

ibv_td* AllocThreadDomain(ibv_context* context, ibv_td_init_attr* attributes);
int DeallocThreadDomain(ibv_td* domain);
ibv_pd* AllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_EXTENDED_CALLS_H_
