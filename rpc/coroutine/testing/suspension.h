// Where a coroutine of a test suspends until the test lets it go on.
//
// Owner: the test. Thread: one.

#ifndef VERBENA_RPC_COROUTINE_TESTING_SUSPENSION_H_
#define VERBENA_RPC_COROUTINE_TESTING_SUSPENSION_H_

#include <coroutine>
#include <utility>

#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/resume.h"

namespace verbena::testing {

class Suspension {
 public:
  class Awaiter {
   public:
    explicit Awaiter(Suspension* suspension) : suspension_(suspension) {}
    Awaiter(const Awaiter&) = delete;
    ~Awaiter() { suspension_->suspended_ = nullptr; }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) { suspension_->suspended_ = coroutine; }
    void await_resume() const noexcept {}

   private:
    Suspension* const suspension_;
  };

  // One coroutine at a time.
  auto Wait() { return coroutine::Awaitable<Awaiter, Suspension*>(this); }

  // Whether a coroutine waits; one that was destroyed does not.
  bool has_waiter() const { return suspended_ != nullptr; }
  // Lets it go on.
  void Continue() { coroutine::Resume(take_waiter()); }
  std::coroutine_handle<> take_waiter() { return std::exchange(suspended_, nullptr); }

 private:
  std::coroutine_handle<> suspended_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_COROUTINE_TESTING_SUSPENSION_H_
