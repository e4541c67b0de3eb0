// The lock of the data path. Free, it costs an atomic exchange and a plain store, half of a std::mutex, which counts
// where a message passes six; the providers of NICs do the same.
//
// Whoever waits spins a little, then yields, then sleeps in between: so it gets on where the holder was preempted, or
// waits for the processor behind a real-time thread, or copies a megabyte.
//
// Owner: what it guards. Thread: any. Not recursive, not fair, no condition variables.

#ifndef VERBENA_TRANSPORT_SOFT_SPIN_LOCK_H_
#define VERBENA_TRANSPORT_SOFT_SPIN_LOCK_H_

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace verbena::soft {

class ABSL_LOCKABLE SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  // The names are those of std::mutex, for std::lock_guard.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (held_.exchange(true, std::memory_order_acquire)) Await();
  }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() ABSL_UNLOCK_FUNCTION() { held_.store(false, std::memory_order_release); }

 private:
  void Await();

  std::atomic<bool> held_{false};
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SPIN_LOCK_H_
