// What there is to know of each kind of fault: its words, where it can happen, and what a random plan makes of it.

#ifndef VERBENA_TRANSPORT_SOFT_FAULT_KINDS_H_
#define VERBENA_TRANSPORT_SOFT_FAULT_KINDS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transport/soft/fault_plan.h"

namespace verbena::soft {

// What is counted as it is made. The process itself is one, and always the first.
enum class FaultObject : uint8_t { kProcess, kQueuePair, kSharedReceiveQueue, kCompletionQueue };
inline constexpr size_t kFaultObjects = 4;

// What is counted as it happens to an object. kLife: nothing, the fault befalls the object as a whole.
enum class FaultOperation : uint8_t {
  kLife,
  kRequest,
  kReceive,
  kMessage,
  kEvent,
  kCompletion,
  kResolve,
  kConnect,
  kAccept,
  kPost,
};
inline constexpr size_t kFaultOperations = 10;

// What stands behind the '=' of a fault's name.
enum class FaultArgument : uint8_t { kNone, kStatus, kAmount };

// The most that a fault does to a program that keeps the rules of the verbs.
enum class FaultHarm : uint8_t {
  kTime,     // It waits longer. What may be late, early or missing by the rules is no more than that.
  kFailure,  // A call, a request or a connection of it fails.
  kOutage,   // Every connection of a completion queue, port or device does.
};

struct FaultTraits {
  FaultKind kind;
  absl::string_view name;
  FaultObject object;
  FaultOperation operation;
  FaultArgument argument;
  uint32_t random_amount_max;  // In random plans `amount` is 1 to this.
  FaultHarm harm;              // Random plans have it by their FaultKinds.
};

// In the order of FaultKind.
absl::Span<const FaultTraits> AllFaultKinds();
const FaultTraits& TraitsOf(FaultKind kind);

// Whether random plans of `kinds` have faults like this one.
bool Includes(FaultKinds kinds, const FaultTraits& traits);

// "qp", "srq", "cq"; "request", "receive" and so on. Empty for the process and for kLife.
absl::string_view WordOf(FaultObject object);
absl::string_view WordOf(FaultOperation operation);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAULT_KINDS_H_
