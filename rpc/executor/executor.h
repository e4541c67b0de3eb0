// Where handlers run that may block: the seam between a server and its threads.
//
// Owner: the server. Thread: any submits.

#ifndef VERBENA_RPC_EXECUTOR_EXECUTOR_H_
#define VERBENA_RPC_EXECUTOR_EXECUTOR_H_

#include <cstddef>

#include "absl/functional/any_invocable.h"

namespace verbena::rpc {

class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;

  virtual ~Executor() = default;

  // Queues `task`; tasks start in order. False, and `task` is destroyed unrun: the queue is full, or Shutdown was
  // called.
  virtual bool TrySubmit(Task task) = 0;

  // Destroys, unrun, what waits; blocks until what runs has returned. Not from a task.
  virtual void Shutdown() = 0;

  virtual size_t queue_max() const = 0;  // Tasks that may wait for a thread.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_EXECUTOR_H_
