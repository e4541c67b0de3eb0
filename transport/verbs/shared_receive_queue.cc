#include "transport/verbs/shared_receive_queue.h"

#include "absl/strings/str_cat.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<SharedReceiveQueue> SharedReceiveQueue::Create(const ProtectionDomain& domain, uint32_t receives_max,
                                                              uint32_t segments_max) {
  ibv_srq_init_attr attributes = {};
  attributes.attr.max_wr = receives_max;
  attributes.attr.max_sge = segments_max;
  ibv_srq* queue = domain.api().create_srq(domain.get(), &attributes);
  if (queue == nullptr) {
    int error = ErrorNumber(-1);
    return PinningError("ibv_create_srq", error,
                        absl::StrCat(receives_max, " receives of ", segments_max, " segments"));
  }
  return SharedReceiveQueue({domain.api(), queue}, attributes.attr.max_wr);
}

absl::Status SharedReceiveQueue::SetLimit(uint32_t limit) {
  ibv_srq_attr attributes = {};
  attributes.srq_limit = limit;
  int result = queue_.api().modify_srq(queue_.get(), &attributes, IBV_SRQ_LIMIT);
  if (result == 0) return absl::OkStatus();
  int error = ErrorNumber(result);
  return CallError("ibv_modify_srq", error, absl::StrCat("limit ", limit, " of ", receives_max_));
}

absl::Status SharedReceiveQueue::PostError(int result) const {
  int error = ErrorNumber(result);
  return CallError("ibv_post_srq_recv", error, absl::StrCat("room for ", receives_max_, " receives"));
}

}  // namespace verbena::verbs
