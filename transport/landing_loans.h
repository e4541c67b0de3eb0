// Landing memory that the program keeps: lent when a payload is delivered, given back when the last Cord made of it is
// gone, on whatever thread that is. Until then it counts in the loop's fetch budget, as lent.
//
// Owner: a poll group. Thread: its loop's; a loan ends on any. Loans may outlive the poll group, and then end silently.

#ifndef VERBENA_TRANSPORT_LANDING_LOANS_H_
#define VERBENA_TRANSPORT_LANDING_LOANS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "transport/event_loop.h"
#include "transport/loop_handle.h"
#include "transport/memory_budget.h"
#include "transport/payload_arena.h"

namespace verbena::transport {

class LandingLoans {
  struct Returns;

 public:
  // Ends with its last holder.
  class Loan {
   public:
    Loan(std::shared_ptr<Returns> returns, BlockRef block, uint64_t bytes);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    const std::shared_ptr<Returns> returns_;
    BlockRef block_;
    const uint64_t bytes_;
  };

  LandingLoans(EventLoop* loop, MemoryBudget* budget);
  ~LandingLoans();

  // Lends `block`. `bytes` of the budget, in use by the caller until now, are the loan's from here on.
  std::shared_ptr<const Loan> Lend(BlockRef block, uint64_t bytes);
  // The same of memory that is still being filled, which the program could not give back if it would: CountAsLent is to
  // follow, before the caller drops the loan.
  std::shared_ptr<const Loan> LendUnfilled(BlockRef block, uint64_t bytes);
  void CountAsLent(uint64_t bytes) { budget_.OnLent(bytes); }

 private:
  // Where loans that end leave their bytes for the loop to find.
  struct Returns {
    Returns(EventLoop* to, LandingLoans* by) : loop(to), collector(by) {}

    LoopHandle loop;                  // Detached once the poll group is gone.
    LandingLoans* collector;          // The loop's. Null once the poll group is gone.
    std::atomic<uint64_t> bytes = 0;  // Not collected yet; then a task to do so is posted.
  };

  // On the loop.
  static void Collect(Returns& returns);

  EventLoop& loop_;
  MemoryBudget& budget_;
  const std::shared_ptr<Returns> returns_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LANDING_LOANS_H_
