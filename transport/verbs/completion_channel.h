// A completion channel: the file descriptor that becomes readable when an armed completion queue has something.
//
// The descriptor is non-blocking. Events are counted on the queue that they are about and acknowledged by the queue in
// batches, because an acknowledgement takes a lock (see completion_queue.h).
//
// Owner: the caller. Its device must outlive it; it must outlive the completion queues made on it. Thread: the one that
// owns those queues.

#ifndef VERBENA_TRANSPORT_VERBS_COMPLETION_CHANNEL_H_
#define VERBENA_TRANSPORT_VERBS_COMPLETION_CHANNEL_H_

#include "absl/status/statusor.h"
#include "transport/verbs/device.h"
#include "transport/verbs/owned_object.h"

namespace verbena::verbs {

class CompletionChannel {
 public:
  static absl::StatusOr<CompletionChannel> Create(const Device& device);

  // The queue that the next event is about (compare with CompletionQueue::get), or null if there is no event. The queue
  // is disarmed from here on: request its next notification, then poll it.
  absl::StatusOr<ibv_cq*> NextEvent();

  int fd() const { return channel_->fd; }
  ibv_comp_channel* get() const { return channel_.get(); }

 private:
  explicit CompletionChannel(OwnedObject<ibv_comp_channel, &VerbsApi::destroy_comp_channel> channel)
      : channel_(std::move(channel)) {}

  OwnedObject<ibv_comp_channel, &VerbsApi::destroy_comp_channel> channel_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_COMPLETION_CHANNEL_H_
