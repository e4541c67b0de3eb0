// Calls about objects that belong to an id: queue pairs, shared receive queues, and endpoints, which are an id with all
// of it.

#include <cerrno>
#include <utility>

#include "transport/soft/cm_api.h"
#include "transport/soft/cm_call.h"

namespace verbena::soft {
namespace {

constexpr int kResolveTimeoutMs = 2000;

int PreparePassive(CmId& id, const rdma_addrinfo& info, ibv_pd* domain, const ibv_qp_init_attr* attributes) {
  if (CmBindAddr(&id, info.ai_src_addr) != 0) return -1;
  if (domain != nullptr) id.pd = domain;
  if (attributes != nullptr) {
    id.queue_pair_wish = *attributes;
    id.queue_pair_wish->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
  }
  return 0;
}

int PrepareActive(CmId& id, const rdma_addrinfo& info, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (CmResolveAddr(&id, info.ai_src_addr, info.ai_dst_addr, kResolveTimeoutMs) != 0) return -1;
  if (CmResolveRoute(&id, kResolveTimeoutMs) != 0) return -1;
  if (attributes != nullptr) {
    attributes->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
    if (CmCreateQp(&id, domain, attributes) != 0) return -1;
  }
  const auto* prefix = static_cast<const std::byte*>(info.ai_connect);
  if (prefix != nullptr) id.private_data_prefix.assign(prefix, prefix + info.ai_connect_len);
  return 0;
}

}  // namespace

int CmCreateQp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return Guarded([=] { return Plane().MakeQueuePair(Own(id), domain, attributes); });
}

int CmCreateQpEx(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) {
  return Guarded([=] { return Plane().MakeExtendedQueuePair(Own(id), attributes); });
}

void CmDestroyQp(rdma_cm_id* id) {
  Guarded([=] {
    Plane().DropQueuePair(Own(id));
    return 0;
  });
}

void CmForgetQueuePair(ibv_qp* queue_pair) {
  Guarded([=] {
    Plane().ForgetQueuePair(queue_pair);
    return 0;
  });
}

int CmCreateSrq(rdma_cm_id* id, ibv_pd* domain, ibv_srq_init_attr* attributes) {
  return Guarded([=] { return Plane().MakeSharedReceiveQueue(Own(id), domain, attributes); });
}

int CmCreateSrqEx(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) {
  constexpr uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0) return Outcome(EINVAL);
  if (attributes->srq_type != IBV_SRQT_BASIC || (attributes->comp_mask & ~kKnown) != 0) return Outcome(EOPNOTSUPP);
  ibv_srq_init_attr basic = {attributes->srq_context, attributes->attr};
  bool given = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) != 0;
  if (CmCreateSrq(id, given ? attributes->pd : nullptr, &basic) != 0) return -1;
  attributes->attr = basic.attr;
  attributes->pd = id->srq->pd;
  attributes->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
  return 0;
}

void CmDestroySrq(rdma_cm_id* id) {
  Guarded([=] {
    Plane().DropSharedReceiveQueue(Own(id));
    return 0;
  });
}

int CmCreateEp(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  rdma_cm_id* made = nullptr;
  if (CmCreateId(nullptr, &made, nullptr, static_cast<rdma_port_space>(info->ai_port_space)) != 0) return -1;
  bool passive = (info->ai_flags & RAI_PASSIVE) != 0;
  int status = Guarded([&] {
    int prepared = passive ? PreparePassive(Own(made), *info, domain, attributes)
                           : PrepareActive(Own(made), *info, domain, attributes);
    return prepared == 0 ? 0 : errno;
  });
  if (status != 0) {
    int error = errno;
    CmDestroyEp(made);
    return Outcome(error);
  }
  *id = made;
  return 0;
}

void CmDestroyEp(rdma_cm_id* id) {
  CmDestroyQp(id);
  CmDestroySrq(id);
  CmDestroyId(id);
}

int CmGetRequest(rdma_cm_id* listener, rdma_cm_id** id) {
  return Guarded([=] {
    CmId& own = Own(listener);
    if (!own.synchronous()) return EINVAL;
    if (int error = Plane().AwaitOutcome(own); error != 0) return error;
    if (own.event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return EINVAL;
    rdma_cm_event* event = std::exchange(own.event, nullptr);
    CmId& request = Own(event->id);
    request.event = event;
    if (own.queue_pair_wish.has_value()) {
      ibv_qp_init_attr attributes = *own.queue_pair_wish;
      if (int error = Plane().MakeQueuePair(request, own.pd, &attributes); error != 0) {
        Plane().DestroyId(request);
        return error;
      }
    }
    *id = &request;
    return 0;
  });
}

}  // namespace verbena::soft
