// A bounded pool of threads with a bounded queue, for tasks that may block.
//
// Owner: whoever has the tasks. Thread: any submits; the pool's threads run.

#ifndef VERBENA_RPC_EXECUTOR_THREAD_POOL_H_
#define VERBENA_RPC_EXECUTOR_THREAD_POOL_H_

#include <cstddef>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "rpc/executor/worker_threads.h"

namespace verbena::rpc {

class ThreadPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  // Starts `threads` threads (at least one); at most `queue_max` (at least one) tasks wait for one of them.
  ThreadPool(int threads, size_t queue_max);
  absl::Status status() const { return threads_.status(); }  // As Executor's.
  ~ThreadPool() { Shutdown(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Queues `task`; tasks start in order. False, and `task` is destroyed unrun: the queue is full, or Shutdown was
  // called.
  bool TrySubmit(Task task);
  // Destroys, unrun, what waits; blocks until what runs has returned. Not from a task.
  void Shutdown();
  size_t queued() const;

 private:
  bool RunNext();

  // Constant after construction.
  const int threads_max_;
  const size_t queue_max_;

  mutable std::mutex mu_;
  std::vector<Task> ring_ ABSL_GUARDED_BY(mu_);  // queue_max_ places; `count_` from `first_` on are taken.
  size_t first_ ABSL_GUARDED_BY(mu_) = 0;
  size_t count_ ABSL_GUARDED_BY(mu_) = 0;
  int awake_ ABSL_GUARDED_BY(mu_) = 0;  // Threads that run or look for something to, or will.
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;

  WorkerThreads threads_;  // The last: they use the others.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_THREAD_POOL_H_
