#include "transport/landing_loans.h"

#include <utility>

namespace verbena::transport {

LandingLoans::Loan::Loan(std::shared_ptr<Returns> returns, BlockRef block, uint64_t bytes)
    : returns_(std::move(returns)), block_(std::move(block)), bytes_(bytes) {}

LandingLoans::Loan::~Loan() {
  block_ = BlockRef();                                                           // Free before it is counted as free.
  if (returns_->bytes.fetch_add(bytes_, std::memory_order_acq_rel) > 0) return;  // They are collected with others.
  LoopHandle::Task task = [returns = returns_] { Collect(*returns); };
  returns_->loop.Post(task);
}

LandingLoans::LandingLoans(EventLoop* loop, MemoryBudget* budget)
    : loop_(*loop), budget_(*budget), returns_(std::make_shared<Returns>(loop, this)) {}

LandingLoans::~LandingLoans() {
  returns_->collector = nullptr;
  returns_->loop.Detach();
}

std::shared_ptr<const LandingLoans::Loan> LandingLoans::Lend(BlockRef block, uint64_t bytes) {
  CountAsLent(bytes);
  return LendUnfilled(std::move(block), bytes);
}

std::shared_ptr<const LandingLoans::Loan> LandingLoans::LendUnfilled(BlockRef block, uint64_t bytes) {
  return std::make_shared<const Loan>(returns_, std::move(block), bytes);
}

void LandingLoans::Collect(Returns& returns) {
  const uint64_t bytes = returns.bytes.exchange(0, std::memory_order_acq_rel);
  LandingLoans* const collector = returns.collector;
  if (collector == nullptr) return;  // Its poll group went meanwhile, on this same thread.
  collector->budget_.OnLentBack(bytes);
  collector->budget_.Return(bytes, collector->loop_.Now());
}

}  // namespace verbena::transport
