// libibverbs: completion channels, completion queues, shared receive queues and queue pairs.

#include <infiniband/verbs.h>

#include "transport/soft/c_boundary.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"

using namespace verbena::soft;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return OrNull([=] { return CreateCompletionChannel(context); });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return OrErrno([=] { return DestroyCompletionChannel(channel); });
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user_context, ibv_comp_channel* channel, int vector) {
  return OrNull([=] { return CreateCompletionQueue(context, entries, user_context, channel, vector); });
}

int ibv_resize_cq(ibv_cq* queue, int entries) {
  return OrErrno([=] { return ResizeCompletionQueue(queue, entries); });
}

int ibv_destroy_cq(ibv_cq* queue) {
  return OrErrno([=] { return DestroyCompletionQueue(queue); });
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user_context) {
  return OrMinusOne([=] { return GetCompletionEvent(channel, queue, user_context); });
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned int count) {
  OrNothing([=] { AckCompletionEvents(queue, count); });
}

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  return OrNull([=] { return CreateSharedReceiveQueue(domain, attributes); });
}

int ibv_modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) {
  return OrErrno([=] { return ModifySharedReceiveQueue(queue, attributes, mask); });
}

int ibv_query_srq(ibv_srq* queue, ibv_srq_attr* attributes) {
  return OrErrno([=] { return QuerySharedReceiveQueue(queue, attributes); });
}

int ibv_destroy_srq(ibv_srq* queue) {
  return OrErrno([=] { return DestroySharedReceiveQueue(queue); });
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return OrNull([=] { return CreateUnconnectedQueuePair(domain, attributes); });
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* queue_pair) { return ExtendedQueuePair(queue_pair); }

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  return OrErrno([=] { return ModifyQueuePair(queue_pair, attributes, mask); });
}

int ibv_query_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes) {
  return OrErrno([=] { return QueryQueuePair(queue_pair, attributes, mask, init_attributes); });
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  return OrErrno([=] {
    CmForgetQueuePair(queue_pair);
    return DestroyQueuePair(queue_pair);
  });
}

}  // extern "C"
