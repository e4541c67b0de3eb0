// Keeps the faults of one object: counts its operations and says what befalls them.
//
// A fault with a number befalls once, one for each operation stays. Owner: the object. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_
#define VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_

#include <array>
#include <optional>
#include <utility>

#include "transport/soft/fault_kinds.h"

namespace verbena::soft {

class FaultInjector {
 public:
  explicit FaultInjector(FaultPlan plan) : plan_(std::move(plan)) {}

  bool empty() const { return plan_.empty(); }
  bool HasAt(FaultOperation operation) const;

  // An operation of this kind happens now: Befalls is about it from here on.
  void Count(FaultOperation operation) { ++CountOf(operation); }

  // The fault of this kind that befalls the operation counted last, if any.
  std::optional<Fault> Take(FaultKind kind) { return TakeAt(kind, CountOf(TraitsOf(kind).operation)); }
  bool Befalls(FaultKind kind) { return Take(kind).has_value(); }
  // The same for the next operation. One that is refused is not counted.
  std::optional<Fault> TakeNext(FaultKind kind) { return TakeAt(kind, CountOf(TraitsOf(kind).operation) + 1); }
  bool Refuses(FaultKind kind) { return TakeNext(kind).has_value(); }

 private:
  std::optional<Fault> TakeAt(FaultKind kind, uint64_t number);
  uint64_t& CountOf(FaultOperation operation) { return counts_[static_cast<size_t>(operation)]; }

  FaultPlan plan_;
  std::array<uint64_t, kFaultOperations> counts_ = {};
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAULT_INJECTOR_H_
