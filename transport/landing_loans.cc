#include "transport/landing_loans.h"

#include <utility>

namespace verbena::transport {

LandingLoans::Loan::Loan(std::shared_ptr<Returns> returns, BlockRef block, uint64_t bytes)
    : returns_(std::move(returns)), block_(std::move(block)), bytes_(bytes) {}

LandingLoans::Loan::~Loan() {
  block_ = BlockRef();  // Free before it is counted as free.
  const std::lock_guard lock(returns_->mu);
  if (returns_->loop == nullptr) return;
  if (returns_->bytes == 0) {
    returns_->loop->Post([returns = returns_] { Collect(*returns); });
  }
  returns_->bytes += bytes_;
}

LandingLoans::LandingLoans(EventLoop* loop, MemoryBudget* budget)
    : budget_(*budget), returns_(std::make_shared<Returns>()) {
  const std::lock_guard lock(returns_->mu);
  returns_->loop = loop;
  returns_->collector = this;
}

LandingLoans::~LandingLoans() {
  const std::lock_guard lock(returns_->mu);
  returns_->loop = nullptr;
  returns_->collector = nullptr;
}

std::shared_ptr<const LandingLoans::Loan> LandingLoans::Lend(BlockRef block, uint64_t bytes) {
  budget_.OnLent(bytes);
  return std::make_shared<const Loan>(returns_, std::move(block), bytes);
}

void LandingLoans::Collect(Returns& returns) {
  LandingLoans* collector = nullptr;
  uint64_t bytes = 0;
  {
    const std::lock_guard lock(returns.mu);
    collector = returns.collector;
    bytes = std::exchange(returns.bytes, 0);
  }
  if (collector == nullptr) return;  // Its poll group went meanwhile, on this same thread.
  collector->budget_.OnLentBack(bytes);
  collector->budget_.Return(bytes);
}

}  // namespace verbena::transport
