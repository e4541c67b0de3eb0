// A bound on memory in use, in bytes, and the queue of those who wait for some.
//
// A request larger than the whole budget is let through when nothing else is in use, so that one large message is slow
// rather than impossible. First come, first served: a large request is not overtaken by small ones.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_MEMORY_BUDGET_H_
#define VERBENA_TRANSPORT_MEMORY_BUDGET_H_

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "transport/counters.h"

namespace verbena::transport {

class MemoryBudget {
 public:
  // `in_use` shows the bytes in use to whoever counts.
  MemoryBudget(uint64_t bytes_max, Counter* in_use) : bytes_max_(bytes_max), in_use_(*in_use) {}

  // Runs `granted` once `bytes` are taken: at once, or from a later Return. It must not call back into the budget but
  // for Return. `wanted` is asked first; a request that is no longer wanted is dropped.
  void Request(uint64_t bytes, absl::AnyInvocable<bool()> wanted, absl::AnyInvocable<void()> granted);
  void Return(uint64_t bytes);

  uint64_t in_use() const { return in_use_.value(); }
  size_t waiting() const { return queue_.size(); }

 private:
  struct Waiter {
    uint64_t bytes;
    absl::AnyInvocable<bool()> wanted;
    absl::AnyInvocable<void()> granted;
  };
  bool Fits(uint64_t bytes) const { return in_use() == 0 || bytes <= bytes_max_ - std::min(bytes_max_, in_use()); }
  void Serve();

  const uint64_t bytes_max_;
  Counter& in_use_;
  std::deque<Waiter> queue_;
  bool serving_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_MEMORY_BUDGET_H_
