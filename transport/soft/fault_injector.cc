#include "transport/soft/fault_injector.h"

#include <algorithm>

namespace verbena::soft {

bool FaultInjector::HasAt(FaultOperation operation) const {
  return std::any_of(plan_.begin(), plan_.end(),
                     [&](const Fault& each) { return TraitsOf(each.kind).operation == operation; });
}

std::optional<Fault> FaultInjector::TakeAt(FaultKind kind, uint64_t number) {
  auto fault = std::find_if(plan_.begin(), plan_.end(), [&](const Fault& each) {
    return each.kind == kind && (each.operation == number || each.operation == 0);
  });
  if (fault == plan_.end()) return std::nullopt;
  Fault taken = *fault;
  if (taken.operation != 0) plan_.erase(fault);
  return taken;
}

}  // namespace verbena::soft
