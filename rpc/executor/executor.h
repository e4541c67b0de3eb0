// A bounded pool of threads with a bounded queue, for handlers that may block.
//
// Owner: the server. Thread: any submits; the pool's threads run.

#ifndef VERBENA_RPC_EXECUTOR_EXECUTOR_H_
#define VERBENA_RPC_EXECUTOR_EXECUTOR_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"

namespace verbena::rpc {

class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;

  // Starts `threads` threads (at least one); at most `queue_max` (at least one) tasks wait for one of them.
  Executor(int threads, size_t queue_max);
  ~Executor() { Shutdown(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `task`; tasks start in order. False, and `task` is destroyed unrun: the queue is full, or Shutdown was
  // called.
  bool TrySubmit(Task task);

  // Destroys, unrun, what waits; blocks until what runs has returned. Not from one of the pool's threads.
  void Shutdown();

  size_t queued() const;
  size_t queue_max() const { return queue_max_; }

 private:
  void Work();
  Task TakeNext();  // Empty: shut down.

  // Constant after construction.
  const size_t queue_max_;
  std::vector<std::thread> threads_;

  mutable std::mutex mu_;
  std::condition_variable not_empty_;
  std::vector<Task> ring_ ABSL_GUARDED_BY(mu_);  // queue_max_ places; `count_` from `first_` on are taken.
  size_t first_ ABSL_GUARDED_BY(mu_) = 0;
  size_t count_ ABSL_GUARDED_BY(mu_) = 0;
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_EXECUTOR_H_
