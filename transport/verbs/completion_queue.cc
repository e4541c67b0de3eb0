#include "transport/verbs/completion_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<CompletionQueue> CompletionQueue::Create(const Device& device, int entries, CompletionChannel* channel,
                                                        int vector) {
  auto events = std::make_unique<EventCount>();
  ibv_cq* queue = device.api().create_cq(device.context(), entries, events.get(),
                                         channel == nullptr ? nullptr : channel->get(), vector);
  if (queue == nullptr) {
    int error = ErrorNumber(-1);
    return PinningError("ibv_create_cq", error,
                        absl::StrCat(device.name(), ", ", entries, " entries, completion vector ", vector));
  }
  return CompletionQueue(std::move(events), {device.api(), queue});
}

CompletionQueue& CompletionQueue::operator=(CompletionQueue&& from) noexcept {
  CompletionQueue taken(std::move(from));
  std::swap(events_, taken.events_);
  std::swap(queue_, taken.queue_);
  return *this;
}

CompletionQueue::~CompletionQueue() {
  if (queue_.moved_from() || events_->unacknowledged == 0) return;
  queue_.api().ack_cq_events(queue_.get(), events_->unacknowledged);
}

absl::Status CompletionQueue::PollError(int poll_result) const {
  return absl::InternalError(absl::StrCat("ibv_poll_cq failed with ", poll_result, ": the completion queue of ",
                                          capacity(), " entries overran, or its device is gone"));
}

absl::Status CompletionQueue::RequestNotify(bool solicited_only) {
  int result = ibv_req_notify_cq(queue_.get(), solicited_only ? 1 : 0);
  if (result == 0) return absl::OkStatus();
  int error = ErrorNumber(result);
  return CallError("ibv_req_notify_cq", error, absl::StrCat(capacity(), " entries"));
}

}  // namespace verbena::verbs
