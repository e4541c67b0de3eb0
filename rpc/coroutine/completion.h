// Where a coroutine and the end of something meet that goes on without it: a call, an operation of a stream. The
// coroutine may be destroyed while it waits, and nothing resumes it then; whatever ends keeps its own memory.
//
// It is for one coroutine at a time and, after Reset, for one end after the other.
//
// Owner: whatever ends, by a shared_ptr of which who calls Complete has a share. Thread: the coroutine's side is for
// the loop that made this (home), Complete for any. Who made it on a thread that runs no loop goes on where Complete is
// called. Who waits when home has gone is not resumed any more, nor destroyed.
//
// Allocates nothing, but for the task that Complete posts from another thread.

#ifndef VERBENA_RPC_COROUTINE_COMPLETION_H_
#define VERBENA_RPC_COROUTINE_COMPLETION_H_

#include <atomic>
#include <coroutine>
#include <memory>
#include <utility>

#include "rpc/coroutine/home_loop.h"
#include "rpc/coroutine/resume.h"
#include "transport/loop_handle.h"

namespace verbena::coroutine {

class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // In await_suspend, last: the awaiter may be gone when it returns. False: complete already, nothing is to suspend.
  [[gnu::always_inline]] bool Suspend(std::coroutine_handle<> coroutine) {
    ambient_ = AmbientScope::current();
    if (home()) {  // And so will the end be.
      if (complete()) return false;
      waiter_.store(coroutine.address(), std::memory_order_relaxed);
      return true;
    }
    void* none = nullptr;
    return waiter_.compare_exchange_strong(none, coroutine.address(), std::memory_order_acq_rel);
  }
  // Whoever waits is gone, or is not to be resumed: in the awaiter's destructor above all.
  void Abandon() {
    void* waiter = waiter_.load(std::memory_order_relaxed);
    if (waiter != Done()) waiter_.compare_exchange_strong(waiter, nullptr, std::memory_order_acq_rel);
  }
  // Somebody waits.
  bool awaited() const {
    void* const waiter = waiter_.load(std::memory_order_relaxed);
    return waiter != nullptr && waiter != Done();
  }
  bool complete() const { return waiter_.load(std::memory_order_acquire) == Done(); }
  // For the next end; complete, or never begun.
  void Reset() { waiter_.store(nullptr, std::memory_order_relaxed); }

  // This thread is home's.
  bool home() const { return home_ != nullptr && home_->IsHere(); }

  // The end. Once; never from within the coroutine's own code but in await_suspend, before Suspend. `self` is this, as
  // it is kept.
  static void Complete(std::shared_ptr<Completion> self) {
    if (self->home_ == nullptr || self->home()) return self->Arrive();
    transport::LoopHandle::Task task = [self] { self->Arrive(); };
    if (!self->home_->Post(task)) self->waiter_.store(Done(), std::memory_order_release);
  }

  // The same, of what has it as its `member`.
  template <typename Ended>
  static void CompleteOf(std::shared_ptr<Ended> ended, Completion Ended::*member) {
    Completion* const completion = &(ended.get()->*member);
    Complete({std::move(ended), completion});
  }

  // The same, at home, where the waiter suspends too, and so comes before or behind it. This may be gone then.
  void CompleteAtHome() {
    void* const waiter = waiter_.load(std::memory_order_relaxed);
    waiter_.store(Done(), std::memory_order_release);
    ResumeWaiter(waiter);
  }

 private:
  static void* Done() { return &done_; }
  void Arrive() { ResumeWaiter(waiter_.exchange(Done(), std::memory_order_acq_rel)); }
  void ResumeWaiter(void* waiter) const {
    if (waiter != nullptr) Resume({std::coroutine_handle<>::from_address(waiter), ambient_});
  }

  static inline char done_ = 0;  // Its address is no coroutine's.

  const std::shared_ptr<transport::LoopHandle> home_ = WayHome();  // Null: none.
  std::atomic<void*> waiter_ = nullptr;                            // Null: nobody. Done(): it has ended.
  const void* ambient_ = nullptr;                                  // The waiter's.
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_COMPLETION_H_
