#include "transport/soft/fault_kinds.h"

#include <algorithm>
#include <array>

namespace verbena::soft {
namespace {

constexpr uint32_t kPollsMax = 1000;

using Kind = FaultKind;
using Object = FaultObject;
using Operation = FaultOperation;
using Argument = FaultArgument;

constexpr std::array kKinds = {
    FaultTraits{Kind::kRefuseSend, "refuse", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0, true},
    FaultTraits{Kind::kFailRequest, "fail", Object::kQueuePair, Operation::kRequest, Argument::kStatus, 0, true},
    FaultTraits{Kind::kDelay, "delay", Object::kQueuePair, Operation::kRequest, Argument::kAmount, kPollsMax, true},
    FaultTraits{Kind::kHoldSends, "hold-sends", Object::kQueuePair, Operation::kRequest, Argument::kAmount, kPollsMax,
                true},
    FaultTraits{Kind::kHoldReceives, "hold-receives", Object::kQueuePair, Operation::kRequest, Argument::kAmount,
                kPollsMax, true},
    FaultTraits{Kind::kLoseDoorbell, "lose-doorbell", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                true},
    FaultTraits{Kind::kDoubleDoorbell, "double-doorbell", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                true},
    FaultTraits{Kind::kDropEmpty, "drop-empty", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0, true},
    FaultTraits{Kind::kTrickle, "trickle", Object::kQueuePair, Operation::kRequest, Argument::kAmount, 4096, true},
    FaultTraits{Kind::kDisconnect, "disconnect", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0, true},
    FaultTraits{Kind::kRefuseReceive, "refuse", Object::kQueuePair, Operation::kReceive, Argument::kNone, 0, true},
    FaultTraits{Kind::kRefuseSharedReceive, "refuse", Object::kSharedReceiveQueue, Operation::kReceive, Argument::kNone,
                0, true},
    FaultTraits{Kind::kNotReady, "not-ready", Object::kQueuePair, Operation::kMessage, Argument::kAmount, kPollsMax,
                true},
    FaultTraits{Kind::kRefuseDirect, "refuse-direct", Object::kQueuePair, Operation::kLife, Argument::kNone, 0, true},
    FaultTraits{Kind::kLoseLastWqe, "lose-last-wqe", Object::kQueuePair, Operation::kLife, Argument::kNone, 0, true},
    FaultTraits{Kind::kDelayLastWqe, "delay-last-wqe", Object::kQueuePair, Operation::kLife, Argument::kAmount,
                kPollsMax, true},
    FaultTraits{Kind::kEarlyLimit, "early-limit", Object::kSharedReceiveQueue, Operation::kReceive, Argument::kNone, 0,
                true},
    FaultTraits{Kind::kLoseLimit, "lose", Object::kSharedReceiveQueue, Operation::kEvent, Argument::kNone, 0, true},
    FaultTraits{Kind::kDelayLimit, "delay", Object::kSharedReceiveQueue, Operation::kEvent, Argument::kAmount, 100,
                true},
    FaultTraits{Kind::kOverrun, "overrun", Object::kCompletionQueue, Operation::kCompletion, Argument::kNone, 0, false},
    FaultTraits{Kind::kFailResolve, "fail", Object::kProcess, Operation::kResolve, Argument::kNone, 0, true},
    FaultTraits{Kind::kRejectConnect, "reject", Object::kProcess, Operation::kConnect, Argument::kAmount, 32, true},
    FaultTraits{Kind::kUnreachableConnect, "unreachable", Object::kProcess, Operation::kConnect, Argument::kNone, 0,
                true},
    FaultTraits{Kind::kLoseConnect, "lose", Object::kProcess, Operation::kConnect, Argument::kNone, 0, true},
    FaultTraits{Kind::kLoseAccept, "lose", Object::kProcess, Operation::kAccept, Argument::kNone, 0, true},
    FaultTraits{Kind::kPortDown, "port-down", Object::kProcess, Operation::kPost, Argument::kNone, 0, false},
    FaultTraits{Kind::kPortUp, "port-up", Object::kProcess, Operation::kPost, Argument::kNone, 0, false},
    FaultTraits{Kind::kDeviceFatal, "device-fatal", Object::kProcess, Operation::kPost, Argument::kNone, 0, false},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].kind != static_cast<FaultKind>(i)) return false;
  }
  return kKinds.size() == static_cast<size_t>(FaultKind::kDeviceFatal) + 1;
}
static_assert(InOrder());

}  // namespace

absl::Span<const FaultTraits> AllFaultKinds() { return kKinds; }

const FaultTraits& TraitsOf(FaultKind kind) { return kKinds[static_cast<size_t>(kind)]; }

absl::string_view WordOf(FaultObject object) {
  constexpr std::array<absl::string_view, kFaultObjects> kWords = {"", "qp", "srq", "cq"};
  return kWords[static_cast<size_t>(object)];
}

absl::string_view WordOf(FaultOperation operation) {
  constexpr std::array<absl::string_view, kFaultOperations> kWords = {
      "", "request", "receive", "message", "event", "completion", "resolve", "connect", "accept", "post"};
  return kWords[static_cast<size_t>(operation)];
}

}  // namespace verbena::soft
