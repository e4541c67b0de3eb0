// A way to an event loop that may be gone: for what users may keep longer than the channel or server that made it.
//
// Owner: shared by the loop's part of a channel or server and by all that leads back to it. Thread: any, but Detach.

#ifndef VERBENA_RPC_LOOP_HANDLE_H_
#define VERBENA_RPC_LOOP_HANDLE_H_

#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class LoopHandle {
 public:
  using Task = absl::AnyInvocable<void()>;

  // `loop` stays until Detach.
  explicit LoopHandle(transport::EventLoop* loop) : loop_(loop) {}

  // Posts `task`, which is destroyed unrun if the loop ends first. False: the loop is gone, and `task` is as it was.
  bool Post(Task& task) {
    const std::lock_guard lock(mu_);
    if (loop_ == nullptr) return false;
    loop_->Post(std::exchange(task, nullptr));
    return true;
  }

  // True: what the loop owns may be touched by this thread, which is the loop's; or the loop is gone, and nobody else
  // touches it.
  bool IsHere() {
    const std::lock_guard lock(mu_);
    return loop_ == nullptr || loop_->InLoopThread();
  }

  // The loop's thread.
  void Detach() {
    const std::lock_guard lock(mu_);
    loop_ = nullptr;
  }

 private:
  std::mutex mu_;
  transport::EventLoop* loop_ ABSL_GUARDED_BY(mu_);  // Null: gone.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_LOOP_HANDLE_H_
