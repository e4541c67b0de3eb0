// A bound on memory in use, in bytes, and the queue of those who wait for some.
//
// A request larger than the whole budget is let through when nothing else is in use, so that one large message is slow
// rather than impossible. First come, first served: a large request is not overtaken by small ones.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_MEMORY_BUDGET_H_
#define VERBENA_TRANSPORT_MEMORY_BUDGET_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "transport/counters.h"

namespace verbena::transport {

class MemoryBudget {
 public:
  // What became of a request.
  enum class Answer {
    kGranted,  // The bytes are taken.
    kDenied,   // By DenyFirst.
  };
  // It must not call back into the budget but for Return.
  using AnswerCallback = absl::AnyInvocable<void(Answer)>;

  // `in_use` shows the bytes in use to whoever counts.
  MemoryBudget(uint64_t bytes_max, Counter* in_use) : bytes_max_(bytes_max), in_use_(*in_use) {}

  // Takes `bytes` if there is room for them and nobody waits. False: a Request has to wait for its turn.
  bool TakeAtOnce(uint64_t bytes);
  // Takes `bytes` and answers: at once, or from a later call. `wanted` is asked first; a request that is no longer
  // wanted is dropped unanswered.
  void Request(uint64_t bytes, absl::Time now, absl::AnyInvocable<bool()> wanted, AnswerCallback answer);
  // A request that waits is not wanted any more: whoever waits behind it may have its turn.
  void OnUnwanted() { Serve(); }
  void Return(uint64_t bytes);

  // Bytes in use go to the program, which gives them back in its own time; Return follows, with lent bytes told first.
  void OnLent(uint64_t bytes) { lent_ += bytes; }
  void OnLentBack(uint64_t bytes) { lent_ -= bytes; }
  uint64_t lent() const { return lent_; }

  uint64_t in_use() const { return in_use_.value(); }
  size_t waiting() const { return queue_.size(); }
  // Since when the first of the queue waits.
  std::optional<absl::Time> waiting_since() const;
  // What is lent alone leaves no room for the first of the queue: nothing that the transport does will help it.
  bool FirstWaitsForLent() const { return !queue_.empty() && lent_ > 0 && !FitsBeside(lent_, queue_.front().bytes); }
  void DenyFirst();

 private:
  struct Waiter {
    uint64_t bytes;
    absl::Time since;
    absl::AnyInvocable<bool()> wanted;
    AnswerCallback answer;
  };
  bool FitsBeside(uint64_t others, uint64_t bytes) const {
    return others == 0 || bytes <= bytes_max_ - std::min(bytes_max_, others);
  }
  void Serve();

  const uint64_t bytes_max_;
  Counter& in_use_;
  uint64_t lent_ = 0;  // Of those in use.
  std::deque<Waiter> queue_;
  bool serving_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_MEMORY_BUDGET_H_
