// What the two ends of a connection in memory share: which of them are there, and how long messages take.
//
// Owner: shared by the ends and by what is posted to them. Thread: any, but AddTimer.

#ifndef VERBENA_RPC_TESTING_MEMORY_LINK_H_
#define VERBENA_RPC_TESTING_MEMORY_LINK_H_

#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "rpc/testing/memory_connection.h"

namespace verbena::testing {

class MemoryLink : public std::enable_shared_from_this<MemoryLink> {
 public:
  using EndTask = absl::AnyInvocable<void(MemoryConnection&)>;

  // An end is set to null by its own loop's thread, so a task on that thread may use what it finds.
  void set_end(int side, MemoryConnection* end) {
    const std::lock_guard lock(mu_);
    ends_[side] = end;
  }
  // Runs `task` on that end's loop, unless it is gone by then.
  void PostTo(int side, EndTask task) {
    const std::lock_guard lock(mu_);
    if (ends_[side] != nullptr) ends_[side]->loop()->Post(OfEnd(side, std::move(task)));
  }
  // The same at an instant of that loop's clock. That loop's thread, while the end is there.
  void AddTimer(int side, absl::Time when, EndTask task) {
    end(side)->loop()->AddTimer(when, OfEnd(side, std::move(task)));
  }

  void set_delay(absl::Duration delay) {
    const std::lock_guard lock(mu_);
    delay_ = delay;
  }
  absl::Duration delay() {
    const std::lock_guard lock(mu_);
    return delay_;
  }

 private:
  MemoryConnection* end(int side) {
    const std::lock_guard lock(mu_);
    return ends_[side];
  }
  absl::AnyInvocable<void()> OfEnd(int side, EndTask task) {
    return [link = shared_from_this(), side, task = std::move(task)]() mutable {
      if (MemoryConnection* there = link->end(side)) task(*there);
    };
  }

  std::mutex mu_;
  MemoryConnection* ends_[2] ABSL_GUARDED_BY(mu_) = {nullptr, nullptr};
  absl::Duration delay_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_MEMORY_LINK_H_
