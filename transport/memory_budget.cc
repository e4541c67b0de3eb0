#include "transport/memory_budget.h"

namespace verbena::transport {

bool MemoryBudget::TakeAtOnce(uint64_t bytes) {
  if (!queue_.empty() || !FitsBeside(in_use(), bytes)) return false;
  in_use_.Add(bytes);
  return true;
}

void MemoryBudget::Request(uint64_t bytes, absl::Time now, absl::AnyInvocable<bool()> wanted, AnswerCallback answer) {
  if (TakeAtOnce(bytes)) return answer(Answer::kGranted);
  queue_.push_back(Waiter{bytes, now, std::move(wanted), std::move(answer)});
  Serve();
}

void MemoryBudget::Return(uint64_t bytes) {
  in_use_.Subtract(bytes);
  Serve();
}

std::optional<absl::Time> MemoryBudget::waiting_since() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.front().since;
}

void MemoryBudget::DenyFirst() {
  Waiter first = std::move(queue_.front());
  queue_.pop_front();
  if (first.wanted()) first.answer(Answer::kDenied);
  Serve();
}

void MemoryBudget::Serve() {
  if (serving_) return;  // A grant returned its bytes at once; the loop below sees them.
  serving_ = true;
  while (!queue_.empty()) {
    if (!queue_.front().wanted()) {
      queue_.pop_front();
      continue;
    }
    if (!FitsBeside(in_use(), queue_.front().bytes)) break;
    Waiter next = std::move(queue_.front());
    queue_.pop_front();
    in_use_.Add(next.bytes);
    next.answer(Answer::kGranted);
  }
  serving_ = false;
}

}  // namespace verbena::transport
