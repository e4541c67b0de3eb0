// Tasks of several threads that have no event loop to run them: they run one at a time.
//
// Whoever brings a task while nobody runs one runs it, and then what others brought meanwhile; who finds somebody at it
// leaves his task there and goes on: it has been handed over then, not done. So a task that brings another has it run
// behind itself, and no lock is held while one runs. A task must not throw: none would run after it.
//
// Owner: what the tasks work on; the tasks, and who calls Run, keep it. Thread: any.

#ifndef VERBENA_RPC_SERIAL_TASKS_H_
#define VERBENA_RPC_SERIAL_TASKS_H_

#include <mutex>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"

namespace verbena::rpc {

class SerialTasks {
 public:
  using Task = absl::AnyInvocable<void()>;

  // Runs `task`, at once or as soon as those before it have run: each of them happens before the next.
  void Run(Task task) {
    std::unique_lock lock(mu_);
    tasks_.push_back(std::move(task));
    if (std::exchange(running_, true)) return;
    while (!tasks_.empty()) {
      std::vector<Task> taken = std::exchange(tasks_, {});
      lock.unlock();
      for (Task& next : taken) std::exchange(next, nullptr)();
      lock.lock();
    }
    running_ = false;
  }

 private:
  std::mutex mu_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mu_);
  bool running_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERIAL_TASKS_H_
