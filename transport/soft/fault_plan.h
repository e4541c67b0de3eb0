// Faults on purpose: so that programs above meet natively what a NIC, a peer or a fabric does rarely.
//
// A plan is data: a list of faults, each at one operation of one object. Objects are counted in the order in which this
// process makes them, operations in the order in which they happen to their object, both from 1. So the same plan gives
// the same faults, and with both ends of every link in one thread the same run. A plan can be
//   given to one queue pair (PlanFaults),
//   given to the process (PlanFaultsOfProcess, or $VERBENA_SOFT_FAULTS when the device is opened),
//   made of a seed (RandomFaultPlan), and
//   written down and read (FormatFaultPlan, ParseFaultPlan).
//
// Threads: any. A plan befalls what happens after it was set.

#ifndef VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_
#define VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::soft {

// What happens. A "poll" is one turn in which a completion queue lets the queue pair make progress.
enum class FaultKind : uint8_t {
  // At a request posted to a queue pair's send queue.
  kRefuseSend,      // ibv_post_send fails with ENOMEM; the request does not count.
  kFailRequest,     // It is not carried out; in its turn it completes with `status`, and all behind it flush.
  kDelay,           // For `amount` polls the queue pair neither takes anything in nor completes anything.
  kHoldSends,       // For `amount` polls no send completes; receives do. So completions of two queues change places.
  kHoldReceives,    // For `amount` polls nothing is received; sends complete.
  kLoseDoorbell,    // The peer is not told of it; it finds it when it looks for another reason.
  kDoubleDoorbell,  // The peer is told twice, awake or not.
  kDropEmpty,       // A SEND of no bytes completes and never arrives, as on some virtual NICs. Others are not befallen.
  kTrickle,         // `amount` bytes more of it are sent with each poll.
  kDisconnect,      // The peer is gone, see OnPeerGone in link.h.
  // At a receive posted to a queue pair or shared receive queue: ibv_post_recv, ibv_post_srq_recv fail with ENOMEM.
  kRefuseReceive,
  kRefuseSharedReceive,
  // At a message that arrives at a queue pair: for `amount` polls it finds no receive.
  kNotReady,
  // In the life of a queue pair.
  kRefuseDirect,  // When it is linked, the kernel refuses direct access to the peer's memory.
  kNarrowRing,    // When it is linked, its rings have room for `amount` bytes only: what is longer waits for room.
  kLoseLastWqe,   // LAST_WQE_REACHED is never raised.
  kDelayLastWqe,  // It is raised `amount` polls late.
  // At a shared receive queue.
  kEarlyLimit,  // SRQ_LIMIT_REACHED when this receive is posted, if a limit is armed; that disarms it.
  kLoseLimit,   // This one of its SRQ_LIMIT_REACHED is never raised.
  kDelayLimit,  // It is raised when `amount` more receives were taken.
  // At a completion of a completion queue: there is no room for it.
  kOverrun,
  // At a call of the connection manager in this process.
  kFailResolve,         // rdma_resolve_addr ends in ADDR_ERROR.
  kRejectConnect,       // rdma_connect ends in REJECTED, with the reason `amount`.
  kUnreachableConnect,  // rdma_connect ends in UNREACHABLE, at once.
  kLoseConnect,         // The request of rdma_connect never arrives: nothing happens until its time-out.
  kSlowConnect,         // rdma_connect does nothing for `amount` ms first, as where it waits for TCP (iWARP).
  kLateReturn,          // rdma_connect returns `amount` ms after it has done its part: its outcome may come before.
  kLoseAccept,          // The reply of rdma_accept never arrives: nothing happens until the time-outs of both ends.
  kLateConfirmation,    // To rdma_accept the peer's confirmation comes `amount` ms late; its first messages do not.
  // At a request posted to any queue pair of the process.
  kPortDown,
  kPortUp,
  kDeviceFatal,
};

struct Fault {
  FaultKind kind;
  uint32_t object = 0;                          // Which one of the process; 0 = each. Of no meaning to PlanFaults.
  uint64_t operation = 0;                       // Which operation of the object; 0 = each.
  uint32_t amount = 0;                          // As the kind says.
  ibv_wc_status status = IBV_WC_RETRY_EXC_ERR;  // kFailRequest.

  bool operator==(const Fault&) const = default;
};

using FaultPlan = std::vector<Fault>;

// For one queue pair, from its next operation on, which is its first.
void PlanFaults(ibv_qp* queue_pair, FaultPlan plan);

// For all objects that the process makes from now on, and its calls of the connection manager. Counting starts anew. An
// empty plan ends all faults but those that existing objects were given.
void PlanFaultsOfProcess(FaultPlan plan);

// Which kinds a random plan is made of.
enum class FaultKinds : uint8_t {
  kSurvivable,  // Those that a program on top can survive: not overruns, ports and fatal errors.
  kHarmless,    // Of those the ones by which nothing fails: they cost a program that keeps the rules of the verbs time.
};

// What to choose from. No number but the seed may be 0.
struct RandomFaults {
  uint64_t seed = 1;
  FaultKinds kinds = FaultKinds::kSurvivable;
  uint32_t count = 3;
  uint32_t objects = 8;       // Befallen are the first so many of each kind,
  uint32_t operations = 100;  // and of each the first so many operations; of rare ones the first `objects`.
};

// Follows from `choice` alone.
FaultPlan RandomFaultPlan(const RandomFaults& choice);

// A plan as text: faults separated by ';', each "where:what", spaces allowed between words.
//   qp=2,request=5:fail=REM_ACCESS_ERR;qp=*,request=1:delay=30;connect=1:reject=28
// A number may be '*': each. "seed=7;count=3", with "kinds=harmless", "objects" and "operations" if wished, stands for
// a random plan; other faults may follow it. docs/fault-plans.md lists the words. InvalidArgument says what cannot be
// understood.
absl::StatusOr<FaultPlan> ParseFaultPlan(absl::string_view text);

// The text that ParseFaultPlan reads as `plan`.
std::string FormatFaultPlan(const FaultPlan& plan);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_
