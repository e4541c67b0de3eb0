// Threads that work while there is work: the seam between a server and the threads on which its handlers may block.
//
// Owner: who has the work. Thread: any wakes.

#ifndef VERBENA_RPC_EXECUTOR_EXECUTOR_H_
#define VERBENA_RPC_EXECUTOR_EXECUTOR_H_

#include <functional>

#include "absl/status/status.h"

namespace verbena::rpc {

class Executor {
 public:
  // Takes one piece of work and does it; false: there was none. Several threads call it at a time.
  using Work = std::function<bool()>;

  virtual ~Executor() = default;

  // ResourceExhausted: it has no threads, for the system had not as many as were wanted. For its maker to ask.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // One more thread calls the work, again and again until that is false: one that sleeps, or the next that would.
  virtual void Wake() = 0;

  // No thread begins a piece of work any more; blocks until what has begun has returned. Not from the work.
  virtual void Shutdown() = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_EXECUTOR_H_
