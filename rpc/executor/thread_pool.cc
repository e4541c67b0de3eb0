#include "rpc/executor/thread_pool.h"

#include <cassert>
#include <utility>

namespace verbena::rpc {

ThreadPool::ThreadPool(int threads, size_t queue_max)
    : threads_max_(threads), queue_max_(queue_max), ring_(queue_max), threads_(threads, [this] { return RunNext(); }) {
  assert(queue_max > 0);
}

bool ThreadPool::TrySubmit(Task task) {
  {
    const std::lock_guard lock(mu_);
    if (shut_down_ || count_ == queue_max_) return false;
    ring_[(first_ + count_++) % queue_max_] = std::move(task);
    if (awake_ == threads_max_) return true;
    ++awake_;
  }
  threads_.Wake();
  return true;
}

bool ThreadPool::RunNext() {
  Task task;
  {
    const std::lock_guard lock(mu_);
    if (count_ == 0) {
      --awake_;
      return false;
    }
    task = std::exchange(ring_[first_], nullptr);
    first_ = (first_ + 1) % queue_max_;
    --count_;
  }
  task();
  return true;
}

void ThreadPool::Shutdown() {
  std::vector<Task> dropped;  // Destroyed without the lock: a task may hold anything.
  {
    const std::lock_guard lock(mu_);
    if (std::exchange(shut_down_, true)) return;
    dropped = std::exchange(ring_, {});
    count_ = 0;
  }
  dropped.clear();
  threads_.Shutdown();
}

size_t ThreadPool::queued() const {
  const std::lock_guard lock(mu_);
  return count_;
}

}  // namespace verbena::rpc
