#include "transport/verbs/queue_pair.h"

#include <cassert>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

constexpr uint32_t kInlineBytesWorthTrying = 16;

ibv_qp_init_attr InitialAttributes(const QueuePairOptions& options) {
  assert(options.send_completions != nullptr && options.receive_completions != nullptr);
  ibv_qp_init_attr attributes = {};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = options.send_completions->get();
  attributes.recv_cq = options.receive_completions->get();
  attributes.sq_sig_all = options.signal_all_sends ? 1 : 0;
  attributes.cap.max_send_wr = options.sends_max;
  attributes.cap.max_send_sge = options.send_segments_max;
  attributes.cap.max_inline_data = options.inline_bytes_max;
  if (options.shared_receives != nullptr) {
    attributes.srq = options.shared_receives->get();
  } else {
    attributes.cap.max_recv_wr = options.receives_max;
    attributes.cap.max_recv_sge = options.receive_segments_max;
  }
  return attributes;
}

// No attribute of a device says how much it can send inline, and too much of a wish is EINVAL. So ask for less and
// less.
int CreateWithInlineThatFits(const ConnectionId& id, ibv_pd* domain, const QueuePairOptions& options,
                             ibv_qp_init_attr* granted) {
  uint32_t inline_bytes = options.inline_bytes_max;
  while (true) {
    *granted = InitialAttributes(options);
    granted->cap.max_inline_data = inline_bytes;
    int result = id.api().cm_create_qp(id.get(), domain, granted);
    if (result == 0) return 0;
    int error = ErrorNumber(result);
    if (error != EINVAL || inline_bytes == 0) return error;
    inline_bytes = inline_bytes / 2 < kInlineBytesWorthTrying ? 0 : inline_bytes / 2;
  }
}

}  // namespace

absl::StatusOr<QueuePair> QueuePair::Create(const ConnectionId& id, const ProtectionDomain& domain,
                                            const QueuePairOptions& options) {
  if (id.device_context() == nullptr) {
    return absl::FailedPreconditionError("rdma_create_qp: the connection id's address is not resolved to a device");
  }
  ibv_qp_init_attr granted;
  if (int error = CreateWithInlineThatFits(id, domain.get(), options, &granted); error != 0) {
    return PinningError(
        "rdma_create_qp", error,
        absl::StrCat(options.sends_max, " sends of ", options.send_segments_max, " segments, peer ", id.PeerAddress()));
  }
  return QueuePair({id.api(), id.get()}, granted.cap);
}

absl::Status QueuePair::Modify(ibv_qp_attr* attributes, int mask) {
  int result = owned_.api().modify_qp(raw_, attributes, mask);
  return result == 0 ? absl::OkStatus() : CallFailure("ibv_modify_qp", result);
}

absl::Status QueuePair::ModifyToError() {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  return Modify(&attributes, IBV_QP_STATE);
}

absl::Status QueuePair::SetReceiverNotReadyTimer(uint8_t code) {
  ibv_qp_attr attributes = {};
  attributes.min_rnr_timer = code;
  return Modify(&attributes, IBV_QP_MIN_RNR_TIMER);
}

absl::StatusOr<ibv_qp_state> QueuePair::QueryState() const {
  ibv_qp_attr attributes = {};
  ibv_qp_init_attr initial = {};
  int result = owned_.api().query_qp(raw_, &attributes, IBV_QP_STATE, &initial);
  if (result != 0) return CallFailure("ibv_query_qp", result);
  return attributes.qp_state;
}

absl::Status QueuePair::CallFailure(absl::string_view operation, int result) const {
  int error = ErrorNumber(result);
  return CallError(operation, error, absl::StrCat("queue pair ", number()));
}

}  // namespace verbena::verbs
