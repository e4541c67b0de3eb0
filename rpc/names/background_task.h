// Work that blocks on descriptors and clocks, on a thread of its own, and that can be told to stop.

#ifndef VERBENA_RPC_NAMES_BACKGROUND_TASK_H_
#define VERBENA_RPC_NAMES_BACKGROUND_TASK_H_

#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace verbena::rpc {

// The machine's clock that nobody sets. Only differences of its times mean anything.
absl::Time MonotonicNow();

// The work. Owner: its BackgroundThread, and that thread while it runs. Run and what is protected belong to the thread.
class BackgroundTask {
 public:
  BackgroundTask() = default;
  virtual ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Once, before everything else. ResourceExhausted if the process has no descriptor left.
  absl::Status Open();
  // Does the work; returns soon after Stop.
  virtual void Run() = 0;

  // Any thread.
  void Stop();
  void Wake();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  // Readable from Wake or Stop until ClearWake.
  int wake_fd() const { return wake_fd_; }
  void ClearWake();

 protected:
  // Returns at `until`, when woken or told to stop, or when one of `descriptors` is ready, as its `revents` says.
  void Await(absl::Time until, absl::Span<pollfd> descriptors = {});
  // Returns at `until` or when told to stop.
  void SleepUntil(absl::Time until);

 private:
  int wake_fd_ = -1;
  std::atomic<bool> stopping_ = false;
};

// The thread of one task. When the destructor has returned, the task does not run any more; only if the task itself
// destroys its thread, from within Run, what is left of Run goes on, with stopping() true.
class BackgroundThread {
 public:
  // ResourceExhausted if the system has no thread or descriptor left.
  static absl::StatusOr<std::unique_ptr<BackgroundThread>> Start(std::shared_ptr<BackgroundTask> task);
  ~BackgroundThread();

 private:
  explicit BackgroundThread(std::shared_ptr<BackgroundTask> task) : task_(std::move(task)) {}

  const std::shared_ptr<BackgroundTask> task_;
  std::thread thread_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_BACKGROUND_TASK_H_
