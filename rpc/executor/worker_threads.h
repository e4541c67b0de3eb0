// An executor of operating system threads.
//
// Owner: who has the work. Thread: any wakes; who does takes no lock, and calls the kernel if a thread sleeps.

#ifndef VERBENA_RPC_EXECUTOR_WORKER_THREADS_H_
#define VERBENA_RPC_EXECUTOR_WORKER_THREADS_H_

#include <semaphore.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rpc/executor/executor.h"

namespace verbena::rpc {

class WorkerThreads final : public Executor {
 public:
  // Starts `threads` threads, at least one, which sleep. If there are not so many to be had, it has none: see status.
  WorkerThreads(int threads, Work work);
  ~WorkerThreads() override;
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  absl::Status status() const override { return status_; }
  void Wake() override;
  void Shutdown() override;

 private:
  void Run();

  // Constant after construction.
  const Work work_;
  absl::Status status_;

  std::atomic<bool> shut_down_ = false;
  sem_t wakes_;                       // Those that no thread has heeded.
  std::vector<std::thread> threads_;  // The last: they use the others.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_WORKER_THREADS_H_
