// Tasks that wait until every completion that stood in the completion queue when they were asked for has been handled.
//
// A poll that finds the queue empty shows that. So do as many completions as the queue has room for, which is what ends
// the wait on a queue that is never found empty. When the queue has failed, nothing will come any more.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_DEFERRED_TASKS_H_
#define VERBENA_TRANSPORT_DEFERRED_TASKS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace verbena::transport {

class DeferredTasks {
 public:
  // `capacity`: of the completion queue, in completions. Until it is set the queue does not exist.
  void set_capacity(uint64_t capacity) { capacity_ = capacity; }

  void Add(absl::AnyInvocable<void()> task) {
    tasks_.push_back({std::move(task), handled_});
    ++size_;
  }

  // The completion queue is about to be polled.
  void OnPoll() { asked_before_poll_ = size_; }
  // `count` completions of that poll have been handled. `emptied`: it left none behind.
  void OnPolled(uint64_t count, bool emptied) {
    handled_ += count;
    if (emptied) ripe_ = asked_before_poll_;
    while (ripe_ < size_ && handled_ - tasks_[ripe_].handled_before >= capacity_) ++ripe_;
  }
  void OnQueueFailed() { capacity_ = 0; }

  bool empty() const { return size_ == 0; }

  // Runs what need not wait any longer; not what these tasks add.
  void RunRipe() {
    if (capacity_ == 0) ripe_ = size_;
    size_t count = std::exchange(ripe_, 0);
    asked_before_poll_ = 0;
    for (; count > 0; --count) {
      absl::AnyInvocable<void()> task = std::move(tasks_.front().run);
      tasks_.pop_front();
      --size_;
      task();
    }
  }

 private:
  struct Task {
    absl::AnyInvocable<void()> run;
    uint64_t handled_before;
  };

  uint64_t capacity_ = 0;  // 0: there is no queue to wait for.
  uint64_t handled_ = 0;   // Completions since the start.
  std::deque<Task> tasks_;
  size_t size_ = 0;               // Of tasks_, which takes longer to count: this is asked for at each poll.
  size_t asked_before_poll_ = 0;  // Of tasks_, from the front.
  size_t ripe_ = 0;               // Likewise.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEFERRED_TASKS_H_
