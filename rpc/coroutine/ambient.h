// On whose behalf the calling thread works: a word of the layer above, which this one keeps for it across suspensions.
//
// What runs within an AmbientScope works for its value, and so does every coroutine that is begun there and awaited: a
// coroutine that goes on has the value again that it was suspended with, on whichever thread (resume.h). A task of
// StartTask works for nobody, since it may outlive whom it was started for.
//
// Owner: an AmbientScope is a stack frame's. Thread: its own. Allocates nothing.

#ifndef VERBENA_RPC_COROUTINE_AMBIENT_H_
#define VERBENA_RPC_COROUTINE_AMBIENT_H_

#include <utility>

namespace verbena::coroutine {

class AmbientScope {
 public:
  // Null: nobody.
  explicit AmbientScope(const void* value) : value_(value), outer_(std::exchange(innermost_, this)) {}
  ~AmbientScope() { innermost_ = outer_; }
  AmbientScope(const AmbientScope&) = delete;
  AmbientScope& operator=(const AmbientScope&) = delete;

  // The innermost scope's.
  static const void* current() { return innermost_ == nullptr ? nullptr : innermost_->value_; }
  // `value` is going to be void: whoever works for it on this thread works for nobody from here on.
  static void Forget(const void* value) {
    for (AmbientScope* scope = innermost_; scope != nullptr; scope = scope->outer_) {
      if (scope->value_ == value) scope->value_ = nullptr;
    }
  }

 private:
  static constinit inline thread_local AmbientScope* innermost_ = nullptr;

  const void* value_;
  AmbientScope* const outer_;
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_AMBIENT_H_
