// Fault plans that follow from a seed.

#include <array>
#include <random>
#include <vector>

#include "transport/soft/fault_kinds.h"

namespace verbena::soft {
namespace {

constexpr std::array kStatuses = {IBV_WC_LOC_PROT_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
                                  IBV_WC_REM_OP_ERR,   IBV_WC_RETRY_EXC_ERR,   IBV_WC_RNR_RETRY_EXC_ERR,
                                  IBV_WC_GENERAL_ERR};

std::vector<FaultKind> KindsOf(FaultKinds chosen) {
  std::vector<FaultKind> kinds;
  for (const FaultTraits& each : AllFaultKinds()) {
    if (Includes(chosen, each)) kinds.push_back(each.kind);
  }
  return kinds;
}

// What happens about as often as objects are made.
bool IsRare(FaultOperation operation) {
  return operation == FaultOperation::kResolve || operation == FaultOperation::kConnect ||
         operation == FaultOperation::kAccept || operation == FaultOperation::kEvent;
}

// Not a distribution of the standard library: those may differ from one library to the next.
uint64_t OneTo(uint64_t max, std::mt19937_64& random) { return 1 + random() % max; }

}  // namespace

FaultPlan RandomFaultPlan(const RandomFaults& choice) {
  const std::vector<FaultKind> kinds = KindsOf(choice.kinds);
  std::mt19937_64 random(choice.seed);
  FaultPlan plan;
  for (uint32_t i = 0; i < choice.count; ++i) {
    Fault fault = {.kind = kinds[random() % kinds.size()]};
    const FaultTraits& traits = TraitsOf(fault.kind);
    if (traits.object != FaultObject::kProcess) {
      fault.object = static_cast<uint32_t>(OneTo(choice.objects, random));
    }
    if (traits.operation != FaultOperation::kLife) {
      fault.operation = OneTo(IsRare(traits.operation) ? choice.objects : choice.operations, random);
    }
    if (traits.argument == FaultArgument::kAmount) {
      fault.amount = static_cast<uint32_t>(OneTo(traits.random_amount_max, random));
    }
    if (traits.argument == FaultArgument::kStatus) fault.status = kStatuses[random() % kStatuses.size()];
    plan.push_back(fault);
  }
  return plan;
}

}  // namespace verbena::soft
