// Completion channel, completion queue, shared receive queue and queue pair calls.

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/gid_table.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/shared_receive_queue.h"
#include "transport/soft/soft_device.h"
#include "transport/soft/stream/fabric.h"
#include "transport/soft/verbs_conventions.h"

namespace verbena::soft {
namespace {

// Granted though nobody asked: a NIC's work request has room for some, and programs post inline without a wish for it.
constexpr uint32_t kInlineBytesAnyway = 16;

SharedReceiveQueue& SrqOf(ibv_srq* queue) { return *static_cast<SharedReceiveQueue*>(queue); }

CompletionQueue& CqOf(ibv_cq* queue) { return *static_cast<CompletionQueue*>(queue); }

// What can be granted of a queue pair's wishes, in place. EINVAL where a wish is beyond the device.
int Grant(ibv_qp_init_attr* attributes) {
  const SoftDevice& device = SoftDevice::Existing();
  const Profile& profile = device.profile();
  if (int error = device.health().Refusal(); error != 0) return error;
  ibv_qp_cap& cap = attributes->cap;
  if (attributes->qp_type != IBV_QPT_RC || attributes->send_cq == nullptr || attributes->recv_cq == nullptr) {
    return EINVAL;
  }
  if (cap.max_send_wr > profile.work_requests_max || cap.max_recv_wr > profile.work_requests_max ||
      cap.max_send_sge > profile.segments_max || cap.max_recv_sge > profile.segments_max ||
      cap.max_inline_data > profile.inline_bytes_max) {
    return EINVAL;
  }
  cap.max_send_wr = std::max(cap.max_send_wr, 1u);
  cap.max_send_sge = std::max(cap.max_send_sge, 1u);
  cap.max_inline_data = std::max(cap.max_inline_data, std::min(kInlineBytesAnyway, profile.inline_bytes_max));
  if (attributes->srq != nullptr) cap.max_recv_wr = cap.max_recv_sge = 0;
  return 0;
}

// Queue pairs that programs connect by themselves find each other on this host. The number of one on another host could
// be that of one here, even of the same queue pair.
bool LeadsToAnotherHost(const ibv_qp_attr& attributes, int mask) {
  const ibv_ah_attr& path = attributes.ah_attr;
  return (mask & IBV_QP_AV) != 0 && path.is_global != 0 && !IsGidOfThisHost(path.grh.dgid);
}

}  // namespace

ibv_comp_channel* CreateCompletionChannel(ibv_context* context) {
  if (int error = SoftDevice::Existing().health().Refusal(); error != 0) return NullWithErrno(error);
  bool for_wires = TcpIsLikely();
  std::optional<WakePipe> pipe = WakePipe::Create();
  UniqueFd wires(for_wires ? epoll_create1(EPOLL_CLOEXEC) : -1);
  if (!pipe.has_value() || wires.valid() != for_wires) return nullptr;
  return new CompletionChannel(context, *std::move(pipe), std::move(wires), SoftDevice::Existing().NextChannelSerial());
}

int DestroyCompletionChannel(ibv_comp_channel* channel) {
  if (IsForkedChild()) return 0;
  auto* own = static_cast<CompletionChannel*>(channel);
  if (own->HasMembers()) return EBUSY;
  delete own;
  return 0;
}

ibv_cq* CreateCompletionQueue(ibv_context* context, int entries, void* user_context, ibv_comp_channel* channel,
                              int vector) {
  SoftDevice& device = SoftDevice::Existing();
  if (int error = device.health().Refusal(); error != 0) return NullWithErrno(error);
  if (entries < 1 || static_cast<uint32_t>(entries) > device.profile().completion_entries_max || vector < 0 ||
      vector >= context->num_comp_vectors) {
    return NullWithErrno(EINVAL);
  }
  return device.NewCompletionQueue(static_cast<uint32_t>(entries), user_context,
                                   static_cast<CompletionChannel*>(channel));
}

int ResizeCompletionQueue(ibv_cq* queue, int entries) {
  const SoftDevice& device = SoftDevice::Existing();
  if (int error = device.health().Refusal(); error != 0) return error;
  if (!device.profile().resizable_queues) return EOPNOTSUPP;
  if (entries < 1 || static_cast<uint32_t>(entries) > device.profile().completion_entries_max) return EINVAL;
  return CqOf(queue).Resize(static_cast<uint32_t>(entries));
}

int DestroyCompletionQueue(ibv_cq* queue) {
  if (IsForkedChild()) return 0;
  SoftDevice& device = SoftDevice::Existing();
  if (CqOf(queue).HasTargets()) return EBUSY;
  device.async_events().Forget(queue);
  device.DeleteCompletionQueue(&CqOf(queue));
  return 0;
}

int GetCompletionEvent(ibv_comp_channel* channel, ibv_cq** queue, void** user_context) {
  CompletionQueue* ready = nullptr;
  int error = IsForkedChild() ? ENODEV : static_cast<CompletionChannel*>(channel)->GetEvent(&ready);
  if (error != 0) {
    errno = error;
    return -1;
  }
  *queue = ready;
  *user_context = ready->cq_context;
  return 0;
}

void AckCompletionEvents(ibv_cq* queue, unsigned int count) {
  if (!IsForkedChild()) CqOf(queue).AcknowledgeEvents(count);
}

ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  SoftDevice& device = SoftDevice::Existing();
  const Profile& profile = device.profile();
  if (int error = device.health().Refusal(); error != 0) return NullWithErrno(error);
  if (profile.shared_queues_max == 0) return NullWithErrno(EOPNOTSUPP);
  ibv_srq_attr& wish = attributes->attr;
  if (wish.max_wr == 0 || wish.max_wr > profile.shared_requests_max || wish.max_sge > profile.shared_segments_max) {
    return NullWithErrno(EINVAL);
  }
  wish.max_sge = std::max(wish.max_sge, 1u);
  SharedReceiveQueue* queue = device.NewSharedReceiveQueue(domain, *attributes);
  if (queue == nullptr) return NullWithErrno(ENOMEM);
  ++ProtectionDomain::Of(domain).users;
  return queue;
}

int ModifySharedReceiveQueue(ibv_srq* queue, ibv_srq_attr* attributes, int mask) {
  if (int error = SoftDevice::Existing().health().Refusal(); error != 0) return error;
  if ((mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR)) != 0) return EINVAL;
  if ((mask & IBV_SRQ_MAX_WR) != 0 && attributes->max_wr > SoftDevice::Existing().profile().shared_requests_max)
    return EINVAL;
  return SrqOf(queue).Modify(*attributes, mask);
}

int QuerySharedReceiveQueue(ibv_srq* queue, ibv_srq_attr* attributes) {
  if (IsForkedChild()) return ENODEV;
  *attributes = SrqOf(queue).Query();
  return 0;
}

int DestroySharedReceiveQueue(ibv_srq* queue) {
  if (IsForkedChild()) return 0;
  if (SrqOf(queue).users != 0) return EBUSY;
  SoftDevice::Existing().async_events().Forget(queue);
  --ProtectionDomain::Of(queue->pd).users;
  SoftDevice::Existing().DeleteSharedReceiveQueue(&SrqOf(queue));
  return 0;
}

ibv_qp* CreateUnconnectedQueuePair(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (int error = Grant(attributes); error != 0) return NullWithErrno(error);
  QueuePair* created = SoftDevice::Existing().NewQueuePair(domain, *attributes);
  if (created == nullptr) return NullWithErrno(ENOMEM);
  ++ProtectionDomain::Of(domain).users;
  if (created->srq != nullptr) ++SrqOf(created->srq).users;
  return created;
}

int CreateQueuePair(ibv_pd* domain, ibv_qp_init_attr* attributes, ibv_qp** queue_pair) {
  ibv_qp* made = CreateUnconnectedQueuePair(domain, attributes);
  if (made == nullptr) return errno;
  ibv_qp_attr initial = {};
  initial.qp_state = IBV_QPS_INIT;
  initial.port_num = 1;
  initial.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  int error = ModifyQueuePair(made, &initial, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) {
    DestroyQueuePair(made);
    return error;
  }
  *queue_pair = made;
  return 0;
}

int DestroyQueuePair(ibv_qp* queue_pair) {
  if (IsForkedChild()) return 0;
  ibv_pd* domain = queue_pair->pd;
  ibv_srq* shared = queue_pair->srq;
  SoftDevice::Existing().out_of_band().Forget(*static_cast<QueuePair*>(queue_pair));
  SoftDevice::Existing().DeleteQueuePair(static_cast<QueuePair*>(queue_pair));
  --ProtectionDomain::Of(domain).users;
  if (shared != nullptr) --SrqOf(shared).users;
  return 0;
}

int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  if (int error = SoftDevice::Existing().health().Refusal(); error != 0) return error;
  auto* own = static_cast<QueuePair*>(queue_pair);
  OutOfBand& out_of_band = SoftDevice::Existing().out_of_band();
  bool resets = mask == IBV_QP_STATE && attributes->qp_state == IBV_QPS_RESET;  // With more it is invalid.
  if (resets) out_of_band.Forget(*own);
  if (LeadsToAnotherHost(*attributes, mask)) return ENETUNREACH;
  int error = own->Modify(*attributes, mask);
  if (error == 0 && !resets) out_of_band.OnModified(*own);
  return error;
}

int QueryQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes) {
  if (IsForkedChild()) return ENODEV;
  static_cast<QueuePair*>(queue_pair)->Query(attributes, init_attributes);
  return 0;
}

}  // namespace verbena::soft
