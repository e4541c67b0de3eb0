// Keeps a queue pair's fault plan: counts its requests and says what befalls the next one.
//
// Owner: the queue pair. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_
#define VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_

#include <optional>
#include <utility>

#include "transport/soft/fault_plan.h"

namespace verbena::soft {

class FaultInjector {
 public:
  explicit FaultInjector(FaultPlan plan) : plan_(std::move(plan)) {}

  // Whether the post of the next request must fail. True once for one fault.
  bool RefusesPost() { return Take(Fault::Kind::kRefusePost, posted_ + 1).has_value(); }

  // The next request was posted. The faults that befall it can be asked for until the next call.
  void CountPost();
  std::optional<ibv_wc_status> PlannedFailure();
  bool LosesDoorbell() { return Take(Fault::Kind::kLoseDoorbell, posted_).has_value(); }
  bool Disconnects() { return Take(Fault::Kind::kDisconnect, posted_).has_value(); }

  // Whether this poll must bring nothing. Counts down.
  bool WithholdsProgress() { return delayed_polls_ != 0 && delayed_polls_-- != 0; }

 private:
  // Removes the fault from the plan.
  std::optional<Fault> Take(Fault::Kind kind, uint64_t request);

  FaultPlan plan_;
  uint64_t posted_ = 0;
  uint32_t delayed_polls_ = 0;
};

// What PlanFaultsOfLaterQueuePairs says about this one.
FaultPlan PlanOfNewQueuePair(const ibv_qp& queue_pair);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_
