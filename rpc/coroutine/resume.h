// How coroutines are resumed, and how one hands over to another without the stack growing.
//
// C++ has symmetric transfer for that: await_suspend returns the coroutine that goes on. Whether it grows the stack is
// left to the optimizer, and gcc 12 lets it grow at -O0 and -O1, and under AddressSanitizer and ThreadSanitizer at any
// level: by 0.1 to 0.6 KiB for every await, so that a loop that awaits what is ready breaks a debug build after some
// ten thousand rounds. Here the coroutine that hands over only names the next one and suspends, and the Resume below
// it on the stack goes on with that: the same depth in every build, for a nanosecond each time.
//
// Who writes an awaitable keeps the coroutine as a Suspended and resumes it with Resume. handle.resume() works as well;
// the first hand-over then takes a second place on the stack. Either way do it from the event loop's call-back, not
// from within another coroutine's code: that one may be destroyed by what is resumed (WhenAny does), and nothing can be
// destroyed while it runs.
//
// Thread: each for itself. Allocates nothing.

#ifndef VERBENA_RPC_COROUTINE_RESUME_H_
#define VERBENA_RPC_COROUTINE_RESUME_H_

#include <coroutine>
#include <utility>

#include "rpc/coroutine/ambient.h"

namespace verbena::coroutine {

// A coroutine that was suspended, and on whose behalf it works (ambient.h): that of the thread where this is made, in
// await_suspend.
struct Suspended {
  Suspended() = default;
  Suspended(std::coroutine_handle<> suspended) : handle(suspended), ambient(AmbientScope::current()) {}
  Suspended(std::coroutine_handle<> suspended, const void* on_behalf_of) : handle(suspended), ambient(on_behalf_of) {}

  std::coroutine_handle<> handle;  // Null: none.
  const void* ambient = nullptr;
};

class ResumeScope {
 public:
  // Resumes `coroutine` and then, one after the other, those that are handed over to. Returns when the last of them has
  // suspended otherwise.
  static void Run(Suspended suspended) {
    const AmbientScope ambient(suspended.ambient);
    ResumeScope scope;
    std::coroutine_handle<> coroutine = suspended.handle;
    while (coroutine != nullptr) {
      scope.running_ = coroutine;
      coroutine.resume();
      coroutine = std::exchange(scope.next_, nullptr);
    }
  }

  static void HandOver(std::coroutine_handle<> from, std::coroutine_handle<> to) {
    // Nobody but the one that this scope resumed: what another coroutine resumed by handle.resume() may be destroyed
    // before this scope has its next turn.
    if (innermost_ != nullptr && innermost_->running_ == from) {
      innermost_->next_ = to;
    } else {
      Run(to);
    }
  }

 private:
  ResumeScope() : outer_(std::exchange(innermost_, this)) {}
  ~ResumeScope() { innermost_ = outer_; }

  static constinit inline thread_local ResumeScope* innermost_ = nullptr;

  ResumeScope* const outer_;
  std::coroutine_handle<> running_;  // Compared only: it may be gone.
  std::coroutine_handle<> next_;
};

// Resumes a suspended coroutine. Returns when it, and whatever it handed over to, has suspended.
inline void Resume(Suspended coroutine) { ResumeScope::Run(coroutine); }

// Lets `to` go on in place of `from`. To be called last in await_suspend of `from`, which returns nothing: the awaiter
// and `from` may be gone when this returns.
inline void HandOver(std::coroutine_handle<> from, std::coroutine_handle<> to) { ResumeScope::HandOver(from, to); }

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_RESUME_H_
