// The calls that wait for one of the executor's threads, and the one place where a thread takes its next.
//
// The executor is given a ticket for each call that waits, and no call: which call a thread runs is decided when it
// gets to the ticket, by CallQueue. Who has waited too long is found out then, too, and by whoever asks in between:
// where every thread is stuck, the server's loops do.
//
// Owner: the server's core. Thread: any. A task is called on the thread that runs its handler, or on that which finds
// out that it is refused; never with a lock held.

#ifndef VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_
#define VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/core/overload/call_queue.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/executor/executor.h"

namespace verbena::rpc {

class HandlerQueue {
 public:
  using Task = CallQueue::Task;
  // That of the loops, read anew. Any thread.
  using Clock = std::function<absl::Time()>;

  // `executor` has so many threads, and room for `options.waiting_max` tasks.
  HandlerQueue(std::unique_ptr<Executor> executor, int threads, const CallQueueOptions& options, Clock clock);
  ~HandlerQueue() { Shutdown(); }
  HandlerQueue(const HandlerQueue&) = delete;
  HandlerQueue& operator=(const HandlerQueue&) = delete;

  // Calls `task` once, with OK on one of the threads; or with RESOURCE_EXHAUSTED if it finds no place, gives it to
  // another client's, or waits too long. Destroys it uncalled after Shutdown. Returns when RefuseOverdue is to be
  // called; InfiniteFuture: that need not be.
  absl::Time Submit(ClientId client, Task task);

  // OK if a call of this client's would find a place now; else why not.
  absl::Status CheckPlace(ClientId client) const;

  // Refuses who has waited too long. Returns when it is to be called again; InfiniteFuture: that need not be.
  absl::Time RefuseOverdue();

  // Of the threads, the part that runs a handler: 0 to 1.
  double busy() const { return static_cast<double>(running_.load(std::memory_order_relaxed)) / threads_; }

  // Destroys, uncalled, what waits; blocks until what runs has returned. Not from a task.
  void Shutdown();

 private:
  void SubmitTicket();
  bool IsShutDown() const;
  void RunNext();
  void PopOverdue(absl::Time now, std::vector<CallQueue::Refusal>& overdue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const int threads_;
  const Clock clock_;

  std::atomic<int> running_ = 0;

  mutable std::mutex mu_;
  CallQueue queue_ ABSL_GUARDED_BY(mu_);
  size_t tickets_ ABSL_GUARDED_BY(mu_) = 0;  // With the executor, not begun: calls that wait to waiting_max.
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;

  const std::unique_ptr<Executor> executor_;  // The last: its threads use the others.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_
