#include "transport/poll_time.h"

#include <algorithm>
#include <numeric>

namespace verbena::transport {
namespace {

// A wait weighs so much, and a sixteenth less with each later one: of the last hundred nothing is left.
constexpr uint32_t kWeight = 1024;
constexpr uint32_t kWaitsRemembered = 16;
// A sleep that may be worth a probe: so many times `most`, for it may have lasted that long for two wake-ups.
constexpr int64_t kShortSleep = 4;
// Short sleeps to a probe, and how often it may be in vain: it costs at most a sixteenth of what these sleeps do.
constexpr uint32_t kShortSleepsPerProbe = 64;
constexpr uint32_t kProbesInVain = 4;

// Costs are counted in units of which the first step has so many, so that three quarters of it are whole.
constexpr uint64_t kFirstStepCost = 4;

}  // namespace

PollTime::PollTime(absl::Duration most) : learned_(most) {
  for (size_t i = 0; i < kSteps; ++i) steps_[i] = most / (int64_t{1} << (kSteps - 1 - i));
}

void PollTime::OnSlept(absl::Duration waited) {
  Learn(waited);
  if (probes_ > 0) {
    --probes_;
  } else if (waited <= kShortSleep * steps_.back() && ++short_sleeps_ == kShortSleepsPerProbe) {
    short_sleeps_ = 0;
    probes_ = kProbesInVain;
  }
}

void PollTime::Learn(absl::Duration waited) {
  for (uint32_t& weight : weights_) weight -= (weight + kWaitsRemembered - 1) / kWaitsRemembered;
  const auto step = std::lower_bound(steps_.begin(), steps_.end(), waited);
  weights_[static_cast<size_t>(step - steps_.begin())] += kWeight;
  learned_ = Cheapest();
}

// As the waits of one step ended somewhere within its upper half, they are taken to have lasted three quarters of it.
absl::Duration PollTime::Cheapest() const {
  constexpr uint64_t kSleepCost = kFirstStepCost << (kSteps - 1);
  uint64_t longer = std::accumulate(weights_.begin(), weights_.end(), uint64_t{0});
  uint64_t found = 0;
  uint64_t least = longer * kSleepCost;
  absl::Duration cheapest = absl::ZeroDuration();
  for (size_t i = 0; i < kSteps; ++i) {
    const uint64_t step = kFirstStepCost << i;
    found += weights_[i] * (step - step / 4);
    longer -= weights_[i];
    const uint64_t cost = found + longer * (step + kSleepCost);
    if (cost > least) continue;
    least = cost;
    cheapest = steps_[i];
  }
  return cheapest;
}

}  // namespace verbena::transport
