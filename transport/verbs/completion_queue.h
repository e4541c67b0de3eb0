// A completion queue: where finished work requests are reported.
//
// The hot path is Poll: inline, straight into the device's own code, no allocation. The order between two queues is
// undefined; within one queue completions of one send queue come in order of posting, but for siw's, whose SENDs may
// overtake READs.
//
// Unacknowledged events: destroying a completion queue waits until every event that was read for it is acknowledged.
// The count stands in this handle, is raised by CompletionChannel::NextEvent, and is paid off in batches and by the
// destructor, so destruction never hangs.
//
// Owner: the caller. Its device and its channel must outlive it; it must outlive the queue pairs that report to it.
// Thread: one, the same as its channel's.

#ifndef VERBENA_TRANSPORT_VERBS_COMPLETION_QUEUE_H_
#define VERBENA_TRANSPORT_VERBS_COMPLETION_QUEUE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/completion_channel.h"
#include "transport/verbs/device.h"
#include "transport/verbs/owned_object.h"

namespace verbena::verbs {

class CompletionQueue {
 public:
  // Events are acknowledged once this many are owed.
  static constexpr uint32_t kUnacknowledgedEventsMax = 64;

  // `entries` is a lower bound; see capacity(). `channel` may be null: then there are no notifications. `vector` is
  // which of the device's completion vectors (interrupts) to use, below Device::completion_vectors().
  static absl::StatusOr<CompletionQueue> Create(const Device& device, int entries, CompletionChannel* channel,
                                                int vector);
  CompletionQueue(CompletionQueue&&) noexcept = default;
  CompletionQueue& operator=(CompletionQueue&& from) noexcept;
  ~CompletionQueue();

  // Takes at most completions.size() completions. Returns how many, or a negative number if the queue itself has failed
  // (overrun, device gone): then it never works again, and PollError puts it in words. Not every `wc` field is defined
  // when its status is not IBV_WC_SUCCESS; see CompletionError.
  int Poll(absl::Span<ibv_wc> completions) {
    return ibv_poll_cq(queue_.get(), static_cast<int>(completions.size()), completions.data());
  }
  absl::Status PollError(int poll_result) const;

  // Asks for one event on the next completion (with `solicited_only`, on the next solicited or failed one). Completions
  // that are already there raise no event: poll once more after this, before sleeping.
  absl::Status RequestNotify(bool solicited_only);

  int capacity() const { return queue_->cqe; }
  ibv_cq* get() const { return queue_.get(); }

 private:
  friend class CompletionChannel;
  struct EventCount {  // On the heap: the raw queue's cq_context points at it, and handles move.
    uint32_t unacknowledged = 0;
  };
  using OwnedQueue = OwnedObject<ibv_cq, &VerbsApi::destroy_cq>;

  CompletionQueue(std::unique_ptr<EventCount> events, OwnedQueue queue)
      : events_(std::move(events)), queue_(std::move(queue)) {}

  std::unique_ptr<EventCount> events_;
  OwnedQueue queue_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_COMPLETION_QUEUE_H_
