// A bound on memory in use, in bytes, and the queue of those who wait for some.
//
// A request larger than the whole budget is let through when nothing else is in use, so that one large message is slow
// rather than impossible. First come, first served: a large request is not overtaken by small ones.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_MEMORY_BUDGET_H_
#define VERBENA_TRANSPORT_MEMORY_BUDGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "transport/counters.h"
#include "transport/protocol/slot_table.h"

namespace verbena::transport {

class MemoryBudget {
 public:
  // Names a request that waits.
  using Ticket = uint64_t;
  static constexpr Ticket kNone = 0;
  // What became of a request.
  enum class Answer {
    kGranted,  // The bytes are taken.
    kDenied,   // By DenyFirst.
  };
  // It may call back for Return and Cancel alone.
  using AnswerCallback = absl::AnyInvocable<void(Answer)>;

  // `in_use` shows the bytes in use to whoever counts.
  MemoryBudget(uint64_t bytes_max, Counter* in_use) : bytes_max_(bytes_max), in_use_(*in_use) {}

  // Takes `bytes` if there is room for them and nobody waits. False: a Request has to wait for its turn.
  bool TakeAtOnce(uint64_t bytes);
  // TakeAtOnce has just said no: takes `bytes`, and answers, from a later call.
  Ticket Request(uint64_t bytes, absl::Time now, AnswerCallback answer);
  // The request is not wanted any more: it is dropped unanswered, and whoever waits behind it may have its turn.
  // Nothing for kNone, nor for one that was answered.
  void Cancel(Ticket ticket);
  void Return(uint64_t bytes, absl::Time now);

  // Bytes in use go to the program, which gives them back in its own time; Return follows, with lent bytes told first.
  void OnLent(uint64_t bytes) { lent_ += bytes; }
  void OnLentBack(uint64_t bytes) { lent_ -= bytes; }
  uint64_t lent() const { return lent_; }

  uint64_t in_use() const { return in_use_.value(); }
  size_t waiting() const { return waiters_.size(); }
  // Since when the first of the queue waits.
  std::optional<absl::Time> waiting_since() const;
  // The same, and nothing has been returned.
  std::optional<absl::Time> stalled_since() const;
  // Whether the first of the queue, if there is any, would have its turn if so many bytes were returned.
  bool FirstFitsAfter(uint64_t bytes) const {
    return queue_.empty() || FitsBeside(in_use() - std::min(bytes, in_use()), first().bytes);
  }
  // What is lent alone leaves no room for the first of the queue: nothing that the transport does will help it.
  bool FirstWaitsForLent() const { return !queue_.empty() && lent_ > 0 && !FitsBeside(lent_, first().bytes); }
  void DenyFirst();

 private:
  struct Waiter {
    uint64_t bytes;
    absl::Time since;
    AnswerCallback answer;
  };
  bool FitsBeside(uint64_t others, uint64_t bytes) const {
    return others == 0 || bytes <= bytes_max_ - std::min(bytes_max_, others);
  }
  const Waiter& first() const { return waiters_[queue_.head]; }
  AnswerCallback TakeFirst();
  void Serve();

  const uint64_t bytes_max_;
  Counter& in_use_;
  uint64_t lent_ = 0;                           // Of those in use.
  absl::Time returned_ = absl::InfinitePast();  // When something was, last.
  protocol::SlotTable<Waiter> waiters_;
  protocol::SlotQueue queue_;  // Of all of them.
  bool serving_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_MEMORY_BUDGET_H_
