// How one end of a pair tells the other end's completion queue that its queue pair there has news: a bit in the ready
// map, and a write to the completion channel's eventfd if the queue is armed.
//
// Owner: the link. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_DOORBELL_H_
#define VERBENA_TRANSPORT_SOFT_DOORBELL_H_

#include <memory>
#include <utility>

#include "transport/soft/armed_word.h"
#include "transport/soft/event_fd.h"
#include "transport/soft/ready_map.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

class Doorbell {
 public:
  // `queue_pair_index` is the peer's queue pair in the peer's process. `channel` is null if that queue has none.
  Doorbell(std::shared_ptr<SharedMapping> ready, std::shared_ptr<SharedMapping> published, uint32_t queue_index,
           uint32_t queue_pair_index, std::shared_ptr<UniqueFd> channel)
      : ready_(std::move(ready)),
        published_(std::move(published)),
        armed_(&published_->published().queues[queue_index].armed),
        queue_pair_index_(queue_pair_index),
        channel_(std::move(channel)) {}

  // After the news was published with sequential consistency.
  void Ring(bool urgent) {
    ready_.Set(queue_pair_index_);
    if (channel_ != nullptr && armed_.ShouldSignal(urgent)) SignalEventFd(channel_->get());
  }

 private:
  ReadyMap ready_;
  std::shared_ptr<SharedMapping> published_;
  ArmedWordWatcher armed_;
  uint32_t queue_pair_index_;
  std::shared_ptr<UniqueFd> channel_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DOORBELL_H_
