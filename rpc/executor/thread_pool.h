// A bounded pool of threads with a bounded queue, for handlers that may block.
//
// Owner: the server. Thread: any submits; the pool's threads run.

#ifndef VERBENA_RPC_EXECUTOR_THREAD_POOL_H_
#define VERBENA_RPC_EXECUTOR_THREAD_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rpc/executor/executor.h"

namespace verbena::rpc {

class ThreadPool final : public Executor {
 public:
  // Starts `threads` threads (at least one); at most `queue_max` (at least one) tasks wait for one of them.
  ThreadPool(int threads, size_t queue_max);
  ~ThreadPool() override { Shutdown(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  bool TrySubmit(Task task) override;
  void Shutdown() override;
  size_t queued() const;
  size_t queue_max() const override { return queue_max_; }

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

#endif  // VERBENA_RPC_EXECUTOR_THREAD_POOL_H_
