#include "transport/soft/process_faults.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "transport/soft/fault_injector.h"

namespace verbena::soft {
namespace {

class ProcessFaults {
 public:
  void Set(FaultPlan plan) {
    std::lock_guard lock(mu_);
    plan_ = std::move(plan);
    objects_ = {};
    calls_ = FaultInjector(
        Select([](const Fault&, const FaultTraits& traits) { return traits.object == FaultObject::kProcess; }));
  }

  FaultPlan OfNewObject(FaultObject object) {
    std::lock_guard lock(mu_);
    uint32_t number = ++objects_[static_cast<size_t>(object)];
    return Select([&](const Fault& fault, const FaultTraits& traits) {
      if (traits.operation == FaultOperation::kPost) return object == FaultObject::kQueuePair;
      return traits.object == object && (fault.object == 0 || fault.object == number);
    });
  }

  std::optional<Fault> OfNextCall(FaultOperation operation) {
    std::lock_guard lock(mu_);
    calls_.Count(operation);
    for (const FaultTraits& each : AllFaultKinds()) {
      if (each.object != FaultObject::kProcess || each.operation != operation) continue;
      if (std::optional<Fault> fault = calls_.Take(each.kind)) return fault;
    }
    return std::nullopt;
  }

 private:
  template <typename Predicate>
  FaultPlan Select(Predicate wanted) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    FaultPlan selected;
    std::copy_if(plan_.begin(), plan_.end(), std::back_inserter(selected),
                 [&](const Fault& fault) { return wanted(fault, TraitsOf(fault.kind)); });
    return selected;
  }

  std::mutex mu_;
  FaultPlan plan_ ABSL_GUARDED_BY(mu_);
  std::array<uint32_t, kFaultObjects> objects_ ABSL_GUARDED_BY(mu_) = {};  // Made since the plan was set.
  FaultInjector calls_ ABSL_GUARDED_BY(mu_){FaultPlan()};
};

ProcessFaults& TheFaults() {
  static auto* faults = new ProcessFaults;
  return *faults;
}

bool ReadEnvironment() {
  const char* text = std::getenv("VERBENA_SOFT_FAULTS");
  if (text == nullptr) return true;
  absl::StatusOr<FaultPlan> plan = ParseFaultPlan(text);
  if (!plan.ok()) {
    std::fprintf(stderr, "VERBENA_SOFT_FAULTS: %s\n", std::string(plan.status().message()).c_str());
    return false;
  }
  PlanFaultsOfProcess(*std::move(plan));
  return true;
}

}  // namespace

void PlanFaultsOfProcess(FaultPlan plan) { TheFaults().Set(std::move(plan)); }

bool TakeFaultsOfEnvironment() {
  static const bool taken = ReadEnvironment();
  return taken;
}

FaultPlan FaultsOfNewObject(FaultObject object) { return TheFaults().OfNewObject(object); }

std::optional<Fault> FaultOfNextCall(FaultOperation operation) { return TheFaults().OfNextCall(operation); }

}  // namespace verbena::soft
