// Faults on purpose, in this process: so that programs above meet natively what a NIC does rarely.
//
// A plan belongs to one queue pair and says what befalls its n-th posted send-queue request. Plans are data: the same
// plan gives the same faults, and RandomFaultPlan makes one of a seed.
//
// Threads: any. A plan set while requests are posted applies to those posted after it.

#ifndef VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_
#define VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace verbena::soft {

struct Fault {
  enum class Kind {
    kRefusePost,   // ibv_post_send fails with ENOMEM, once.
    kFailRequest,  // The request is not carried out; in its turn it completes with `status`, and all behind it flush.
    kDelay,  // For `polls` polls after the posting the queue pair neither takes anything in nor completes anything.
    kLoseDoorbell,  // The peer is not told of the request; it finds it when it looks for another reason.
    kDisconnect,    // After the posting the peer is gone: see OnPeerGone.
  };

  Kind kind;
  uint64_t request;                             // Which one of the queue pair, from 1. Refused posts do not count.
  uint32_t polls = 0;                           // kDelay.
  ibv_wc_status status = IBV_WC_RETRY_EXC_ERR;  // kFailRequest.
};

using FaultPlan = std::vector<Fault>;

void PlanFaults(ibv_qp* queue_pair, FaultPlan plan);

// For queue pairs that somebody else makes: asks `choose` for the plan of each one made from now on. Null: no faults.
void PlanFaultsOfLaterQueuePairs(std::function<FaultPlan(const ibv_qp&)> choose);

// `count` faults of kinds, requests (1 to `requests`), lengths and statuses that follow from `seed` alone.
FaultPlan RandomFaultPlan(uint64_t seed, uint64_t requests, int count);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAULT_PLAN_H_
