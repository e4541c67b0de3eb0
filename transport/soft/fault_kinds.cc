#include "transport/soft/fault_kinds.h"

#include <algorithm>
#include <array>

namespace verbena::soft {
namespace {

constexpr uint32_t kPollsMax = 1000;
constexpr uint32_t kLatenessMsMax = 50;

using Kind = FaultKind;
using Object = FaultObject;
using Operation = FaultOperation;
using Argument = FaultArgument;
using Harm = FaultHarm;

constexpr std::array kKinds = {
    FaultTraits{Kind::kRefuseSend, "refuse", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                Harm::kFailure},
    FaultTraits{Kind::kFailRequest, "fail", Object::kQueuePair, Operation::kRequest, Argument::kStatus, 0,
                Harm::kFailure},
    FaultTraits{Kind::kDelay, "delay", Object::kQueuePair, Operation::kRequest, Argument::kAmount, kPollsMax,
                Harm::kTime},
    FaultTraits{Kind::kHoldSends, "hold-sends", Object::kQueuePair, Operation::kRequest, Argument::kAmount, kPollsMax,
                Harm::kTime},
    FaultTraits{Kind::kHoldReceives, "hold-receives", Object::kQueuePair, Operation::kRequest, Argument::kAmount,
                kPollsMax, Harm::kTime},
    FaultTraits{Kind::kLoseDoorbell, "lose-doorbell", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kDoubleDoorbell, "double-doorbell", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kDropEmpty, "drop-empty", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                Harm::kFailure},
    FaultTraits{Kind::kTrickle, "trickle", Object::kQueuePair, Operation::kRequest, Argument::kAmount, 4096,
                Harm::kTime},
    FaultTraits{Kind::kDisconnect, "disconnect", Object::kQueuePair, Operation::kRequest, Argument::kNone, 0,
                Harm::kFailure},
    FaultTraits{Kind::kRefuseReceive, "refuse", Object::kQueuePair, Operation::kReceive, Argument::kNone, 0,
                Harm::kFailure},
    FaultTraits{Kind::kRefuseSharedReceive, "refuse", Object::kSharedReceiveQueue, Operation::kReceive, Argument::kNone,
                0, Harm::kFailure},
    FaultTraits{Kind::kNotReady, "not-ready", Object::kQueuePair, Operation::kMessage, Argument::kAmount, kPollsMax,
                Harm::kFailure},
    FaultTraits{Kind::kRefuseDirect, "refuse-direct", Object::kQueuePair, Operation::kLife, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kNarrowRing, "ring", Object::kQueuePair, Operation::kLife, Argument::kAmount, 65536, Harm::kTime},
    FaultTraits{Kind::kLoseLastWqe, "lose-last-wqe", Object::kQueuePair, Operation::kLife, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kDelayLastWqe, "delay-last-wqe", Object::kQueuePair, Operation::kLife, Argument::kAmount,
                kPollsMax, Harm::kTime},
    FaultTraits{Kind::kEarlyLimit, "early-limit", Object::kSharedReceiveQueue, Operation::kReceive, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kLoseLimit, "lose", Object::kSharedReceiveQueue, Operation::kEvent, Argument::kNone, 0,
                Harm::kTime},
    FaultTraits{Kind::kDelayLimit, "delay", Object::kSharedReceiveQueue, Operation::kEvent, Argument::kAmount, 100,
                Harm::kTime},
    FaultTraits{Kind::kOverrun, "overrun", Object::kCompletionQueue, Operation::kCompletion, Argument::kNone, 0,
                Harm::kOutage},
    FaultTraits{Kind::kFailResolve, "fail", Object::kProcess, Operation::kResolve, Argument::kNone, 0, Harm::kFailure},
    FaultTraits{Kind::kRejectConnect, "reject", Object::kProcess, Operation::kConnect, Argument::kAmount, 32,
                Harm::kFailure},
    FaultTraits{Kind::kUnreachableConnect, "unreachable", Object::kProcess, Operation::kConnect, Argument::kNone, 0,
                Harm::kFailure},
    FaultTraits{Kind::kLoseConnect, "lose", Object::kProcess, Operation::kConnect, Argument::kNone, 0, Harm::kFailure},
    FaultTraits{Kind::kSlowConnect, "slow", Object::kProcess, Operation::kConnect, Argument::kAmount, kLatenessMsMax,
                Harm::kTime},
    FaultTraits{Kind::kLateReturn, "late-return", Object::kProcess, Operation::kConnect, Argument::kAmount,
                kLatenessMsMax, Harm::kTime},
    FaultTraits{Kind::kLoseAccept, "lose", Object::kProcess, Operation::kAccept, Argument::kNone, 0, Harm::kFailure},
    FaultTraits{Kind::kLateConfirmation, "late-confirmation", Object::kProcess, Operation::kAccept, Argument::kAmount,
                kLatenessMsMax, Harm::kTime},
    FaultTraits{Kind::kPortDown, "port-down", Object::kProcess, Operation::kPost, Argument::kNone, 0, Harm::kOutage},
    FaultTraits{Kind::kPortUp, "port-up", Object::kProcess, Operation::kPost, Argument::kNone, 0, Harm::kOutage},
    FaultTraits{Kind::kDeviceFatal, "device-fatal", Object::kProcess, Operation::kPost, Argument::kNone, 0,
                Harm::kOutage},
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

bool Includes(FaultKinds kinds, const FaultTraits& traits) {
  return traits.harm == FaultHarm::kTime || (kinds == FaultKinds::kSurvivable && traits.harm == FaultHarm::kFailure);
}

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
