#include "rpc/executor/worker_threads.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/start_thread.h"

namespace verbena::rpc {

WorkerThreads::WorkerThreads(int threads, Work work) : work_(std::move(work)) {
  assert(threads > 0);
  sem_init(&wakes_, /*pshared=*/0, /*value=*/0);
  for (int i = 1; i <= threads && status_.ok(); ++i) {
    absl::StatusOr<std::thread> thread = StartThread(absl::StrCat("worker ", i, " of ", threads), [this] { Run(); });
    status_.Update(thread.status());
    if (thread.ok()) threads_.push_back(*std::move(thread));
  }
  if (!status_.ok()) Shutdown();
}

WorkerThreads::~WorkerThreads() {
  Shutdown();
  sem_destroy(&wakes_);
}

// At SEM_VALUE_MAX (2^31 - 1) it fails: there are more than enough then.
void WorkerThreads::Wake() { sem_post(&wakes_); }

void WorkerThreads::Run() {
  while (!shut_down_.load(std::memory_order_acquire)) {
    if (sem_wait(&wakes_) != 0) continue;  // A signal handler ran.
    while (!shut_down_.load(std::memory_order_acquire) && work_()) {
    }
  }
}

void WorkerThreads::Shutdown() {
  if (shut_down_.exchange(true, std::memory_order_acq_rel)) return;
  for (size_t i = 0; i < threads_.size(); ++i) Wake();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace verbena::rpc
