// A thread that takes turns with an event loop: where another one would block, it lets the loop run. In a test with
// virtual time, callers and handlers are such threads; in production none is, and what asks for one pays for that only
// where it is about to block.
//
// Owner: whoever runs the thread. Thread: that one.

#ifndef VERBENA_RPC_EXECUTOR_COOPERATIVE_THREAD_H_
#define VERBENA_RPC_EXECUTOR_COOPERATIVE_THREAD_H_

#include <utility>

#include "absl/functional/function_ref.h"

namespace verbena::rpc {

class CooperativeThread {
 public:
  virtual ~CooperativeThread() = default;
  // Lets others run until `ready` is true. They ask it, on whatever thread they run.
  virtual void YieldUntil(absl::FunctionRef<bool()> ready) = 0;

  // Null: the calling thread is not of that kind.
  static CooperativeThread* current() { return current_; }

  // While it lives, the calling thread is `thread`.
  class Scope {
   public:
    explicit Scope(CooperativeThread* thread) : outer_(std::exchange(current_, thread)) {}
    ~Scope() { current_ = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CooperativeThread* const outer_;
  };

 private:
  static constinit inline thread_local CooperativeThread* current_ = nullptr;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_EXECUTOR_COOPERATIVE_THREAD_H_
