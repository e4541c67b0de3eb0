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
    returns_->loop->Post([collector = returns_->collector] { collector->Collect(); });
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

void LandingLoans::Collect() {
  uint64_t bytes = 0;
  {
    const std::lock_guard lock(returns_->mu);
    bytes = std::exchange(returns_->bytes, 0);
  }
  budget_.OnLentBack(bytes);
  budget_.Return(bytes);
}

}  // namespace verbena::transport
