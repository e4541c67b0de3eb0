#include "transport/memory_budget.h"

#include <algorithm>
#include <utility>

namespace verbena::transport {

bool MemoryBudget::TakeAtOnce(uint64_t bytes) {
  if (!queue_.empty() || !FitsBeside(in_use(), bytes)) return false;
  in_use_.Add(bytes);
  return true;
}

MemoryBudget::Ticket MemoryBudget::Request(uint64_t bytes, absl::Time now, AnswerCallback answer) {
  const uint32_t index = waiters_.Allocate();
  waiters_[index] = Waiter{bytes, now, std::move(answer)};
  waiters_.PushBack(queue_, index);
  return waiters_.IdOf(index);
}

void MemoryBudget::Cancel(Ticket ticket) {
  const uint32_t index = waiters_.Find(ticket);
  if (index == protocol::SlotQueue::kNone) return;
  waiters_[index].answer = nullptr;
  waiters_.Remove(queue_, index);
  waiters_.Free(index);
  Serve();
}

void MemoryBudget::Return(uint64_t bytes, absl::Time now) {
  in_use_.Subtract(bytes);
  returned_ = now;
  Serve();
}

std::optional<absl::Time> MemoryBudget::waiting_since() const {
  if (queue_.empty()) return std::nullopt;
  return first().since;
}

std::optional<absl::Time> MemoryBudget::stalled_since() const {
  if (queue_.empty()) return std::nullopt;
  return std::max(first().since, returned_);
}

void MemoryBudget::DenyFirst() {
  TakeFirst()(Answer::kDenied);
  Serve();
}

MemoryBudget::AnswerCallback MemoryBudget::TakeFirst() {
  const uint32_t index = waiters_.PopFront(queue_);
  AnswerCallback answer = std::exchange(waiters_[index].answer, nullptr);
  waiters_.Free(index);
  return answer;
}

void MemoryBudget::Serve() {
  if (serving_) return;  // A grant returned its bytes at once; the loop below sees them.
  serving_ = true;
  while (!queue_.empty() && FitsBeside(in_use(), first().bytes)) {
    in_use_.Add(first().bytes);
    TakeFirst()(Answer::kGranted);
  }
  serving_ = false;
}

}  // namespace verbena::transport
