// How one end of a pair tells the other end that it has published news for it.
//
// Doorbell is what a link needs; SharedDoorbell reaches a completion queue of a process on this host: a bit in its
// ready map, unless the queue watches the queue pair, and a write to the pipe of its completion channel or of its
// process' progress thread, as the queue wants it.
//
// Owner: the link. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_DOORBELL_H_
#define VERBENA_TRANSPORT_SOFT_DOORBELL_H_

#include <memory>
#include <utility>

#include "transport/soft/armed_word.h"
#include "transport/soft/ready_map.h"
#include "transport/soft/shared_mapping.h"
#include "transport/soft/wake_pipe.h"

namespace verbena::soft {

class Doorbell {
 public:
  virtual ~Doorbell() = default;

  // After the news was published with sequential consistency. Often called, so cheap if the other end is awake.
  virtual void Ring(News news) = 0;

  // The other end has not taken up news for a while: tells it again, whatever it seemed to want. Seldom called.
  virtual void Insist() = 0;

  // A guess whether somebody polls there, and takes up what it is told without being woken.
  virtual bool IsPolled() const = 0;
};

class SharedDoorbell final : public Doorbell {
 public:
  struct Target {
    std::shared_ptr<SharedMapping> ready;
    std::shared_ptr<SharedMapping> queues;
    uint32_t queue_index;
    uint32_t queue_pair_index;             // The peer's queue pair in the peer's process.
    std::shared_ptr<WakeWriter> channel;   // Null if that completion queue has none.
    std::shared_ptr<WakeWriter> progress;  // Of the peer's progress thread.
  };

  explicit SharedDoorbell(Target target)
      : target_(std::move(target)),
        ready_(target_.ready),
        queue_(target_.queues->queues().queues[target_.queue_index]),
        armed_(&queue_.armed) {}

  void Ring(News news) override {
    if (queue_.watched.load() != target_.queue_pair_index + 1) ready_.Set(target_.queue_pair_index);
    switch (armed_.WhomToWake(news)) {
      case ArmedWordWatcher::Wake::kNobody:
        return;
      case ArmedWordWatcher::Wake::kChannel:
        if (target_.channel != nullptr) return target_.channel->Wake();
        return target_.progress->Wake();
      case ArmedWordWatcher::Wake::kDevice:
        return target_.progress->Wake();
    }
  }

  void Insist() override {
    ready_.Set(target_.queue_pair_index);
    target_.progress->Wake();
  }

  bool IsPolled() const override { return armed_.IsPolled(); }

 private:
  const Target target_;
  ReadyMap ready_;
  const PublishedQueue& queue_;
  ArmedWordWatcher armed_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DOORBELL_H_
