// One event loop's share of the world: its grant budget and the receives that the "device" really holds.
//
// The budget believes what the driver tells it; the device counts for itself. A frame that arrives where the device has
// no posted receive is an RNR, which must never happen.

#ifndef VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_
#define VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/simulation/world.h"
#include "transport/protocol/grant_budget.h"

namespace verbena::simulation {

class SimulatedLoop {
 public:
  SimulatedLoop(World* world, const protocol::GrantBudget::Options& options) : world_(*world), budget_(options) {}

  // Posts receives that were not there before.
  void AddReceives(uint32_t count) {
    device_posted_ += count;
    budget_.OnReceivesAdded(count);
  }
  // Calls `wake` when the budget names this connection.
  uint32_t AddConnection(std::function<void()> wake) {
    wakes_.push_back(std::move(wake));
    return static_cast<uint32_t>(wakes_.size() - 1);
  }

  // A frame arrives at the device.
  void OnArrival() {
    if (device_posted_ == 0) return world_.Violation("receiver not ready: a frame arrived where no receive is posted");
    --device_posted_;
    ++arrived_;
  }
  // The driver has handed the arrived frame to its machine and will repost the receive some time later.
  void OnPolled() {
    --arrived_;
    const absl::Duration delay = world_.random.Microseconds(0, world_.scenario.repost_us_max);
    world_.After(delay, [this] {
      ++device_posted_;
      uint32_t told = 1;
      if (budget_.consumed() > 1 && world_.Strikes(Sabotage::kRepostTooOften)) told = 2;
      budget_.OnReceivesReposted(told);
      WakeConnections();
    });
  }

  // As the driver does once a turn.
  void WakeConnections() {
    while (std::optional<uint32_t> connection = budget_.NextWakeup(world_.now())) wakes_[*connection]();
  }

  void Check() {
    if (budget_.outstanding() > budget_.posted()) {
      world_.Violation(
          absl::StrCat(budget_.outstanding(), " grants are outstanding on ", budget_.posted(), " posted receives"));
    }
    if (budget_.posted() != device_posted_ + arrived_) {
      world_.Violation(absl::StrCat("the budget counts ", budget_.posted(), " posted receives, the device ",
                                    device_posted_ + arrived_));
    }
  }
  void CheckAtEnd() {
    if (budget_.outstanding() != 0) world_.Violation(absl::StrCat(budget_.outstanding(), " grants are lost"));
    if (budget_.consumed() != 0) world_.Violation("receives are lost");
    if (budget_.members() != 0) world_.Violation("a connection has not left the budget");
  }

  protocol::GrantBudget& budget() { return budget_; }

 private:
  World& world_;
  protocol::GrantBudget budget_;
  uint64_t device_posted_ = 0;
  uint64_t arrived_ = 0;  // At the device, not yet at a machine.
  std::vector<std::function<void()>> wakes_;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_
