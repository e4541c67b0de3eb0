#include "transport/verbs/completion_channel.h"

#include "transport/verbs/completion_queue.h"
#include "transport/verbs/non_blocking.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<CompletionChannel> CompletionChannel::Create(const Device& device) {
  ibv_comp_channel* raw = device.api().create_comp_channel(device.context());
  if (raw == nullptr) return CallError("ibv_create_comp_channel", ErrorNumber(-1), device.name());
  CompletionChannel channel({device.api(), raw});
  if (absl::Status status = MakeNonBlocking(raw->fd, "completion channel"); !status.ok()) return status;
  return channel;
}

absl::StatusOr<ibv_cq*> CompletionChannel::NextEvent() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (int result = channel_.api().get_cq_event(channel_.get(), &queue, &context); result != 0) {
    int error = ErrorNumber(result);
    if (MeansNoEvent(error)) return nullptr;
    return CallError("ibv_get_cq_event", error, "completion channel");
  }
  auto* events = static_cast<CompletionQueue::EventCount*>(context);
  if (++events->unacknowledged >= CompletionQueue::kUnacknowledgedEventsMax) {
    channel_.api().ack_cq_events(queue, events->unacknowledged);
    events->unacknowledged = 0;
  }
  return queue;
}

}  // namespace verbena::verbs
