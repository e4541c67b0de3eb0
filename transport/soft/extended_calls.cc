#include "transport/soft/extended_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "transport/soft/c_boundary.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/soft_device.h"
#include "transport/soft/verbs_conventions.h"

namespace verbena::soft {
namespace {

bool HasOnly(uint64_t flags, uint64_t known) { return (flags & ~known) == 0; }

// Whether a queue pair can be made for these operations of the extended posting API.
bool CanPost(uint64_t operations) {
  return SoftDevice::Existing().profile().extended_posting && HasOnly(operations, kSendOperationsKnown);
}

}  // namespace

void InstallExtendedCalls(const Profile& profile, verbs_context* context) {
  context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->sz = sizeof(*context);
  context->query_port = ForC<QueryPortSized>::Call;
  context->query_device_ex = ForC<QueryDeviceExtended>::Call;
  context->query_rt_values = ForC<QueryRealTimeValues>::Call;
  if (profile.extended_polling) context->create_cq_ex = ForC<CreateCompletionQueueExtended>::Call;
  context->create_qp_ex = ForC<CreateQueuePairExtended>::Call;
  context->create_srq_ex = ForC<CreateSharedReceiveQueueExtended>::Call;
  context->alloc_td = ForC<AllocThreadDomain>::Call;
  context->dealloc_td = ForC<DeallocThreadDomain>::Call;
  context->alloc_parent_domain = ForC<AllocParentDomain>::Call;
}

ibv_qp_ex* ExtendedQueuePair(ibv_qp* queue_pair) {
  auto* own = static_cast<QueuePair*>(queue_pair);
  return own->extended_posting() == nullptr ? nullptr : own->extended();
}

ibv_qp* CreateQueuePairExtended(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  bool has_flags = (attributes->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
  bool has_operations = (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (!HasOnly(attributes->comp_mask, kKnown) || (has_flags && attributes->create_flags != 0) ||
      (has_operations && !CanPost(attributes->send_ops_flags))) {
    return NullWithErrno(EOPNOTSUPP);
  }
  if ((attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return NullWithErrno(EINVAL);
  ibv_qp_init_attr basic = BasicPartOf(*attributes);
  ibv_qp* created = CreateUnconnectedQueuePair(attributes->pd, &basic);
  if (created == nullptr) return nullptr;
  attributes->cap = basic.cap;
  absl::Cleanup without_memory = [created] { DestroyQueuePair(created); };
  if (has_operations) static_cast<QueuePair*>(created)->EnableExtendedPosting(attributes->send_ops_flags);
  std::move(without_memory).Cancel();
  return created;
}

ibv_srq* CreateSharedReceiveQueueExtended(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  bool has_type = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if (!HasOnly(attributes->comp_mask, IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD) ||
      (has_type && attributes->srq_type != IBV_SRQT_BASIC)) {
    return NullWithErrno(EOPNOTSUPP);
  }
  if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return NullWithErrno(EINVAL);
  ibv_srq_init_attr basic = {.srq_context = attributes->srq_context, .attr = attributes->attr};
  ibv_srq* created = CreateSharedReceiveQueue(attributes->pd, &basic);
  if (created != nullptr) attributes->attr = basic.attr;
  return created;
}

ibv_cq_ex* CreateCompletionQueueExtended(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  bool has_flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  uint32_t flags = has_flags ? attributes->flags : 0;
  if (!HasOnly(attributes->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
      !HasOnly(flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED) || !HasOnly(attributes->wc_flags, kWcFlagsKnown)) {
    return NullWithErrno(EOPNOTSUPP);
  }
  auto entries = static_cast<int>(std::min<uint32_t>(attributes->cqe, INT32_MAX));
  auto vector = static_cast<int>(std::min<uint32_t>(attributes->comp_vector, INT32_MAX));
  ibv_cq* created = CreateCompletionQueue(context, entries, attributes->cq_context, attributes->channel, vector);
  if (created == nullptr) return nullptr;
  absl::Cleanup without_memory = [created] { DestroyCompletionQueue(created); };
  auto* queue = static_cast<CompletionQueue*>(created);
  queue->EnableExtendedPoll((attributes->wc_flags & kWcFlagsTimed) != 0,
                            (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0);
  std::move(without_memory).Cancel();
  return queue->extended();
}

int QueryDeviceExtended(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                        size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  ibv_device_attr_ex all = {};
  if (int error = QueryDevice(context, &all.orig_attr); error != 0) return error;
  all.completion_timestamp_mask = UINT64_MAX;
  all.hca_core_clock = 1'000'000;  // kHz: the device's clock counts nanoseconds.
  all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
  all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof(all)));
  return 0;
}

int QueryPortSized(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size) {
  ibv_port_attr all = {};
  if (int error = QueryPort(context, port, &all); error != 0) return error;
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof(all)));
  return 0;
}

int QueryRealTimeValues(ibv_context* context, ibv_values_ex* values) {
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) == 0) {
    values->comp_mask = 0;
    return EINVAL;
  }
  // In ticks of the clock that completion timestamps count in, not split into seconds, as NICs report it.
  values->raw_clock = {.tv_sec = 0, .tv_nsec = static_cast<long>(DeviceClockNs())};
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

ibv_td* AllocThreadDomain(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) return NullWithErrno(EINVAL);
  return new ThreadDomain(context);
}

int DeallocThreadDomain(ibv_td* domain) {
  if (ThreadDomain::Of(domain).users != 0) return EBUSY;
  delete &ThreadDomain::Of(domain);
  return 0;
}

ibv_pd* AllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  if (attributes->pd == nullptr) return NullWithErrno(EINVAL);
  // Memory of queues comes from this device's own allocator; a program's allocator would never be called.
  if (!HasOnly(attributes->comp_mask, IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) return NullWithErrno(EOPNOTSUPP);
  return new ProtectionDomain(&ProtectionDomain::Of(attributes->pd),
                              attributes->td == nullptr ? nullptr : &ThreadDomain::Of(attributes->td));
}

}  // namespace verbena::soft
