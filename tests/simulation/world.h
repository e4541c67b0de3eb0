// What every part of a run shares: virtual time, chance, the first violation found, and the trace.
//
// Time passes only from one scheduled step to the next; steps at the same time run in the order of scheduling.

#ifndef VERBENA_TESTS_SIMULATION_WORLD_H_
#define VERBENA_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scenario.h"

namespace verbena::simulation {

class World {
 public:
  World(uint64_t seed, const Scenario& scenario, bool traced)
      : scenario(scenario), random(seed ^ 0x5eed), traced_(traced) {}

  const Scenario scenario;
  Random random;

  absl::Time now() const { return now_; }
  void After(absl::Duration delay, std::function<void()> step) { At(now_ + delay, std::move(step)); }
  void At(absl::Time time, std::function<void()> step) { steps_.push({time, next_order_++, std::move(step)}); }
  bool HasStep() const { return !steps_.empty(); }
  void RunStep() {
    Step step = std::move(const_cast<Step&>(steps_.top()));
    steps_.pop();
    now_ = step.time;
    step.run();
  }

  // How long an operation takes.
  absl::Duration Latency() {
    const bool slow = random.OneIn(scenario.slow_one_in);
    return random.Microseconds(0, slow ? scenario.slow_us_max : scenario.slow_us_typical);
  }
  // True once, at a random moment, in a run that is sabotaged so.
  bool Strikes(Sabotage sabotage) {
    if (scenario.sabotage != sabotage || struck_ || !random.OneIn(5)) return false;
    return struck_ = true;
  }

  // The first violation stops the run.
  void Violation(std::string what) {
    Trace("VIOLATION: ", what);
    if (!violation_)
      violation_ = absl::StrCat("at ", absl::ToInt64Microseconds(now_ - absl::UnixEpoch()), "us: ", what);
  }
  const std::optional<std::string>& violation() const { return violation_; }

  template <typename... Parts>
  void Trace(const Parts&... parts) {
    if (traced_) trace_.push_back(absl::StrCat(absl::ToInt64Microseconds(now_ - absl::UnixEpoch()), "us ", parts...));
  }
  const std::vector<std::string>& trace() const { return trace_; }
  bool traced() const { return traced_; }

 private:
  struct Step {
    absl::Time time;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Step& other) const {  // The queue's top is the largest: the earliest.
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  const bool traced_;
  absl::Time now_ = absl::UnixEpoch();
  uint64_t next_order_ = 0;
  std::priority_queue<Step> steps_;
  bool struck_ = false;
  std::optional<std::string> violation_;
  std::vector<std::string> trace_;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_WORLD_H_
