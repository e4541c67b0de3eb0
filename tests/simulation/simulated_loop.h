// One event loop's share of the world: its grant budget and the receives that the "device" really holds.
//
// The budget believes what the driver tells it; the device counts for itself. A frame that arrives where the device has
// no posted receive is an RNR, which must never happen.

#ifndef VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_
#define VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_

#include <algorithm>
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
  // Provides for so many connections more than there are: as the driver does when connections come, or have gone. A
  // receive that leaves does so when it would be posted again.
  void ProvideBeyond(uint32_t connections) {
    const auto members = static_cast<uint32_t>(budget_.members());
    const uint32_t wanted = members + connections;
    if (provided_ == 0) provided_ = members;
    const uint64_t receives = budget_.receives();
    if (wanted >= provided_) {
      const uint64_t more = uint64_t{protocol::kCreditsPerConnectionMin} * (wanted - provided_);
      const uint64_t staying = std::min(more, leaving_);
      leaving_ -= staying;
      device_posted_ += more - staying;
      budget_.OnReceivesAdded(static_cast<uint32_t>(more));
      budget_.ProvideFor(wanted);
    } else if (!budget_.ProvideForFewer(wanted)) {
      return;
    } else {
      leaving_ += receives - budget_.receives();
    }
    provided_ = wanted;
    WakeConnections();
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
      const bool leaves = leaving_ > 0 && world_.random.OneIn(2);
      leaves ? --leaving_ : ++device_posted_;
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
    if (budget_.posted() + leaving_ != device_posted_ + arrived_) {
      world_.Violation(absl::StrCat("the budget counts ", budget_.posted(), " posted receives and ", leaving_,
                                    " that leave, the device ", device_posted_ + arrived_));
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
  uint64_t arrived_ = 0;   // At the device, not yet at a machine.
  uint64_t leaving_ = 0;   // Posted, and not in the budget: so many will not be posted again.
  uint32_t provided_ = 0;  // Connections that are provided for; 0: nobody has asked.
  std::vector<std::function<void()>> wakes_;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_SIMULATED_LOOP_H_
