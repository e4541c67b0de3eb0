#include "transport/memory_budget.h"

namespace verbena::transport {

void MemoryBudget::Request(uint64_t bytes, absl::AnyInvocable<bool()> wanted, absl::AnyInvocable<void()> granted) {
  if (queue_.empty() && Fits(bytes)) {
    in_use_.Add(bytes);
    granted();
    return;
  }
  queue_.push_back(Waiter{bytes, std::move(wanted), std::move(granted)});
  Serve();
}

void MemoryBudget::Return(uint64_t bytes) {
  in_use_.Subtract(bytes);
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
    if (!Fits(queue_.front().bytes)) break;
    Waiter next = std::move(queue_.front());
    queue_.pop_front();
    in_use_.Add(next.bytes);
    next.granted();
  }
  serving_ = false;
}

}  // namespace verbena::transport
