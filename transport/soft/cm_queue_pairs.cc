// ControlPlane: queue pairs, completion queues and shared receive queues that belong to an id.
//
// As in librdmacm, id->send_cq and id->recv_cq are only those that were made here, and so are to be destroyed here.

#include <cerrno>
#include <utility>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/cm_queue_pair_attributes.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/verbs_conventions.h"

namespace verbena::soft {
namespace {

constexpr int kAnyVector = 0;

int MakeQueue(CmId& id, uint32_t entries, ibv_comp_channel** channel, ibv_cq** queue) {
  *channel = CreateCompletionChannel(id.verbs);
  if (*channel == nullptr) return errno;
  *queue = CreateCompletionQueue(id.verbs, static_cast<int>(entries), &id, *channel, kAnyVector);
  return *queue != nullptr ? 0 : errno;
}

void DropQueue(ibv_comp_channel** channel, ibv_cq** queue) {
  if (*queue != nullptr) DestroyCompletionQueue(std::exchange(*queue, nullptr));
  if (*channel != nullptr) DestroyCompletionChannel(std::exchange(*channel, nullptr));
}

void DropQueues(CmId& id) {
  DropQueue(&id.send_cq_channel, &id.send_cq);
  DropQueue(&id.recv_cq_channel, &id.recv_cq);
}

// Makes the completion queues that neither the attributes nor the id have. One of no entries is none.
int CompleteQueues(CmId& id, ibv_qp_init_attr* attributes) {
  int error = 0;
  if (attributes->send_cq == nullptr && id.send_cq == nullptr && attributes->cap.max_send_wr > 0) {
    error = MakeQueue(id, attributes->cap.max_send_wr, &id.send_cq_channel, &id.send_cq);
  }
  if (error == 0 && attributes->recv_cq == nullptr && id.recv_cq == nullptr && attributes->cap.max_recv_wr > 0) {
    error = MakeQueue(id, attributes->cap.max_recv_wr, &id.recv_cq_channel, &id.recv_cq);
  }
  if (attributes->send_cq == nullptr) attributes->send_cq = id.send_cq;
  if (attributes->recv_cq == nullptr) attributes->recv_cq = id.recv_cq;
  return error;
}

// In INIT, as rdma_create_qp leaves it. Null with errno set.
ibv_qp* CreateExtended(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  verbs_context* extended = verbs_get_ctx_op(context, create_qp_ex);
  if (extended == nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_qp* made = extended->create_qp_ex(context, attributes);
  if (made == nullptr) return nullptr;
  ibv_qp_attr init = {};
  int mask = AttributesForInit(&init);
  int error = ModifyQueuePair(made, &init, mask);
  if (error == 0) return made;
  DestroyQueuePair(made);
  errno = error;
  return nullptr;
}

bool Contradict(const ibv_cq* own, const ibv_cq* given) { return own != nullptr && given != nullptr && own != given; }

}  // namespace

int ControlPlane::MakeQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  ControlLock lock(mu_);
  return AdoptQueuePair(id, domain, attributes,
                        [=](ibv_pd* own, ibv_qp** made) { return CreateQueuePair(own, attributes, made); });
}

int ControlPlane::MakeExtendedQueuePair(CmId& id, ibv_qp_init_attr_ex* attributes) {
  ControlLock lock(mu_);
  ibv_qp_init_attr basic = BasicPartOf(*attributes);
  bool has_domain = (attributes->comp_mask & IBV_QP_INIT_ATTR_PD) != 0;
  ibv_pd* domain = has_domain ? attributes->pd : nullptr;
  return AdoptQueuePair(id, domain, &basic, [&](ibv_pd* own, ibv_qp** made) {
    attributes->send_cq = basic.send_cq;
    attributes->recv_cq = basic.recv_cq;
    attributes->srq = basic.srq;
    attributes->pd = own;
    attributes->comp_mask |= IBV_QP_INIT_ATTR_PD;
    *made = CreateExtended(id.verbs, attributes);
    return *made != nullptr ? 0 : errno;
  });
}

int ControlPlane::AdoptQueuePair(CmId& id, ibv_pd* domain, ibv_qp_init_attr* attributes, MakeInDomain make) {
  if (domain == nullptr) domain = id.pd;
  if (domain == nullptr || id.verbs == nullptr || domain->context != id.verbs || id.qp != nullptr) return EINVAL;
  if (Contradict(id.send_cq, attributes->send_cq) || Contradict(id.recv_cq, attributes->recv_cq)) return EINVAL;
  if (attributes->srq == nullptr) attributes->srq = id.srq;
  ibv_qp* queue_pair = nullptr;
  int error = CompleteQueues(id, attributes);
  if (error == 0) error = make(domain, &queue_pair);
  if (error != 0) {
    DropQueues(id);
    return error;
  }
  id.qp = queue_pair;
  id.pd = domain;
  owners_.emplace(queue_pair, &id);
  return 0;
}

void ControlPlane::DropQueuePair(CmId& id) {
  ibv_qp* queue_pair;
  {
    ControlLock lock(mu_);
    AwaitReturnOfConnect(id, lock);
    queue_pair = std::exchange(id.qp, nullptr);
    owners_.erase(queue_pair);
  }
  if (queue_pair != nullptr) DestroyQueuePair(queue_pair);
  DropQueues(id);
}

void ControlPlane::ForgetQueuePair(ibv_qp* queue_pair) {
  ControlLock lock(mu_);
  auto owner = owners_.find(queue_pair);
  if (owner == owners_.end()) return;
  owner->second->qp = nullptr;
  owners_.erase(owner);
}

int ControlPlane::InitAttributes(CmId& id, ibv_qp_attr* attributes, int* mask) {
  ControlLock lock(mu_);
  if (id.verbs == nullptr) return EINVAL;
  switch (attributes->qp_state) {
    case IBV_QPS_INIT:
      *mask = AttributesForInit(attributes);
      return 0;
    case IBV_QPS_RTR:
      if (!id.agreement.peer_known) return EINVAL;
      *mask = AttributesForReadyToReceive(id.destination, id.agreement, attributes);
      return 0;
    case IBV_QPS_RTS:
      if (!id.agreement.peer_known) return EINVAL;
      *mask = AttributesForReadyToSend(id.agreement, id.ack_timeout, attributes);
      return 0;
    default:
      return EINVAL;
  }
}

int ControlPlane::MakeSharedReceiveQueue(CmId& id, ibv_pd* domain, ibv_srq_init_attr* attributes) {
  ControlLock lock(mu_);
  if (domain == nullptr) domain = id.pd;
  if (domain == nullptr || id.verbs == nullptr || domain->context != id.verbs || id.srq != nullptr) return EINVAL;
  ibv_srq* queue = CreateSharedReceiveQueue(domain, attributes);
  if (queue == nullptr) return errno;
  id.srq = queue;
  id.pd = domain;
  return 0;
}

void ControlPlane::DropSharedReceiveQueue(CmId& id) {
  ibv_srq* queue;
  {
    ControlLock lock(mu_);
    queue = std::exchange(id.srq, nullptr);
  }
  if (queue != nullptr) DestroySharedReceiveQueue(queue);
}

}  // namespace verbena::soft
