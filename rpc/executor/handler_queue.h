// The calls that wait for one of the executor's threads, and the one place where a thread takes its next.
//
// Event loops hand calls over and never wait: one thread at a time attends to the queue, and takes in what has been
// handed over; an event loop that finds another one there goes on, and that one looks once more before it leaves (if
// the kernel stops it there, the calls wait for it; the loops do not). Which call a thread runs is decided when it is
// free, by CallQueue. Who has waited too long is found out by whoever attends: where every thread is stuck, the
// server's loops do.
//
// Threads are woken one after the other: whoever leaves calls in the queue wakes one more, unless one has been woken
// and none has come since. So a loop that brings many calls pays for one wake-up, and a thread that comes back finds
// its next without one.
//
// Owner: the server's core. Thread: any. A task is called on the thread that runs its handler, or on that which finds
// out that it is refused; never with a lock held.

#ifndef VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_
#define VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/handover_queue.h"
#include "rpc/core/overload/call_queue.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/executor/executor.h"

namespace verbena::rpc {

class HandlerQueue {
 public:
  using Task = CallQueue::Task;
  // That of the loops, read anew. Any thread.
  using Clock = std::function<absl::Time()>;
  // Makes an executor of so many threads.
  using StartExecutor = absl::FunctionRef<std::unique_ptr<Executor>(int threads, Executor::Work work)>;

  HandlerQueue(StartExecutor start, int threads, const CallQueueOptions& options, Clock clock);
  absl::Status status() const { return executor_->status(); }  // The executor's.
  ~HandlerQueue() { Shutdown(); }
  HandlerQueue(const HandlerQueue&) = delete;
  HandlerQueue& operator=(const HandlerQueue&) = delete;

  // Calls `task` once, with OK on one of the threads; or with RESOURCE_EXHAUSTED if it finds no place, gives it to
  // another client's, or waits too long. Destroys it uncalled after Shutdown. Returns when RefuseOverdue is to be
  // called; InfiniteFuture: that need not be. Does not wait.
  absl::Time Submit(ClientId client, Task task);

  // OK if a call of this client's would find a place now; else why not. Does not wait: OK where another thread is at
  // the queue.
  absl::Status CheckPlace(ClientId client);

  // Refuses who has waited too long. Returns when it is to be called again; InfiniteFuture: that need not be. Does not
  // wait.
  absl::Time RefuseOverdue() { return AttendUnlessBusy(); }

  // Of the threads, the part that runs a handler: 0 to 1.
  double busy() const { return static_cast<double>(running_.load(std::memory_order_relaxed)) / threads_; }

  // Destroys, uncalled, what waits; blocks until what runs has returned. Once, a second time does nothing; not from a
  // task.
  void Shutdown();

 private:
  struct Arrival {
    ClientId client;
    Task task;
  };
  // What is left to be done by who has attended to the queue, once others may.
  struct Errands {
    std::vector<CallQueue::Refusal> refusals;
    std::vector<Task> dropped;
    bool wakes_one = false;
  };

  void Attend(Errands& errands) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool WakesOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DoErrands(Errands errands);
  absl::Time AttendUnlessBusy();
  Task TakeNext();
  bool RunNext();

  // Constant after construction.
  const int threads_;
  const bool calls_wait_for_ever_;
  const Clock clock_;

  std::atomic<int> running_ = 0;
  HandoverQueue<Arrival> arrivals_;  // Its consumer holds mu_.

  std::mutex mu_;
  CallQueue queue_ ABSL_GUARDED_BY(mu_);
  int awake_ ABSL_GUARDED_BY(mu_) = 0;               // Threads that run or look for something to, or will.
  bool one_is_coming_ ABSL_GUARDED_BY(mu_) = false;  // It has been woken, and nobody has come since.
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;

  const std::unique_ptr<Executor> executor_;  // The last: its threads use the others.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_HANDLER_QUEUE_H_
