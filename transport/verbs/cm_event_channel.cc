#include "transport/verbs/cm_event_channel.h"

#include "transport/verbs/cm_event.h"
#include "transport/verbs/non_blocking.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<CmEventChannel> CmEventChannel::Create(const VerbsApi& api) {
  rdma_event_channel* raw = api.cm_create_event_channel();
  if (raw == nullptr) return CallError("rdma_create_event_channel", ErrorNumber(-1), api.name);
  CmEventChannel channel({api, raw});
  if (absl::Status status = MakeNonBlocking(raw->fd, "connection-manager event channel"); !status.ok()) return status;
  return channel;
}

absl::StatusOr<std::optional<CmEvent>> CmEventChannel::NextEvent() {
  rdma_cm_event* raw = nullptr;
  if (int result = api().cm_get_event(channel_.get(), &raw); result != 0) {
    int error = ErrorNumber(result);
    if (MeansNoEvent(error)) return std::nullopt;
    return CallError("rdma_get_cm_event", error, api().name);
  }
  CmEvent event(api(), *raw);
  api().cm_ack_event(raw);
  return event;
}

}  // namespace verbena::verbs
