#include "transport/verbs/async_event.h"

#include "absl/strings/str_cat.h"
#include "transport/verbs/non_blocking.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

AsyncEvent Copy(const ibv_async_event& event) {
  AsyncEvent copy = {.type = event.event_type};
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      copy.queue_pair_number = event.element.qp->qp_num;
      break;
    case IBV_EVENT_CQ_ERR:
      copy.completion_queue = event.element.cq;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      copy.shared_receive_queue = event.element.srq;
      break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      copy.port = event.element.port_num;
      break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_WQ_FATAL:  // Raw work queues are not used here.
      break;
  }
  return copy;
}

}  // namespace

std::string AsyncEvent::ToString() const {
  if (type == IBV_EVENT_PORT_ERR) return absl::StrCat("port ", port, " went down");
  if (type == IBV_EVENT_PORT_ACTIVE) return absl::StrCat("port ", port, " came up");
  std::string text = ibv_event_type_str(type);
  if (queue_pair_number != 0) absl::StrAppend(&text, " (queue pair ", queue_pair_number, ")");
  if (completion_queue != nullptr) absl::StrAppend(&text, " (a completion queue)");
  if (shared_receive_queue != nullptr) absl::StrAppend(&text, " (a shared receive queue)");
  if (port != 0) absl::StrAppend(&text, " (port ", port, ")");
  return text;
}

absl::StatusOr<std::optional<AsyncEvent>> NextAsyncEvent(const VerbsApi& api, ibv_context* context) {
  ibv_async_event event = {};
  if (int result = api.get_async_event(context, &event); result != 0) {
    int error = ErrorNumber(result);
    if (MeansNoEvent(error)) return std::nullopt;
    return CallError("ibv_get_async_event", error, api.get_device_name(context->device));
  }
  AsyncEvent copy = Copy(event);
  api.ack_async_event(&event);
  return copy;
}

}  // namespace verbena::verbs
