#include "rpc/executor/thread_pool.h"

#include <cassert>
#include <utility>

namespace verbena::rpc {

ThreadPool::ThreadPool(int threads, size_t queue_max) : queue_max_(queue_max) {
  assert(threads > 0 && queue_max > 0);
  ring_.resize(queue_max);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

bool ThreadPool::TrySubmit(Task task) {
  {
    const std::lock_guard lock(mu_);
    if (shut_down_ || count_ == queue_max_) return false;
    ring_[(first_ + count_++) % queue_max_] = std::move(task);
  }
  not_empty_.notify_one();
  return true;
}

void ThreadPool::Work() {
  while (Task task = TakeNext()) task();
}

ThreadPool::Task ThreadPool::TakeNext() {
  std::unique_lock lock(mu_);
  not_empty_.wait(lock, [this] { return shut_down_ || count_ > 0; });
  if (shut_down_) return nullptr;
  Task task = std::exchange(ring_[first_], nullptr);
  first_ = (first_ + 1) % queue_max_;
  --count_;
  return task;
}

void ThreadPool::Shutdown() {
  std::vector<Task> dropped;  // Destroyed without the lock: a task may hold anything.
  {
    const std::lock_guard lock(mu_);
    if (std::exchange(shut_down_, true)) return;
    dropped = std::exchange(ring_, {});
    count_ = 0;
  }
  not_empty_.notify_all();
  dropped.clear();
  for (std::thread& thread : threads_) thread.join();
}

size_t ThreadPool::queued() const {
  const std::lock_guard lock(mu_);
  return count_;
}

}  // namespace verbena::rpc
