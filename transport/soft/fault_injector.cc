#include "transport/soft/fault_injector.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <random>

#include "absl/base/thread_annotations.h"
#include "transport/soft/queue_pair.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kRandomPollsMax = 1000;

struct LaterPlans {
  std::mutex mu;
  std::function<FaultPlan(const ibv_qp&)> choose ABSL_GUARDED_BY(mu);
};

LaterPlans& TheLaterPlans() {
  static auto* plans = new LaterPlans;
  return *plans;
}

}  // namespace

void FaultInjector::CountPost() {
  ++posted_;
  if (std::optional<Fault> delay = Take(Fault::Kind::kDelay, posted_)) delayed_polls_ += delay->polls;
}

std::optional<ibv_wc_status> FaultInjector::PlannedFailure() {
  std::optional<Fault> fault = Take(Fault::Kind::kFailRequest, posted_);
  if (!fault.has_value()) return std::nullopt;
  return fault->status;
}

std::optional<Fault> FaultInjector::Take(Fault::Kind kind, uint64_t request) {
  auto fault = std::find_if(plan_.begin(), plan_.end(),
                            [&](const Fault& each) { return each.kind == kind && each.request == request; });
  if (fault == plan_.end()) return std::nullopt;
  Fault taken = *fault;
  plan_.erase(fault);
  return taken;
}

void PlanFaults(ibv_qp* queue_pair, FaultPlan plan) { static_cast<QueuePair*>(queue_pair)->SetFaults(std::move(plan)); }

void PlanFaultsOfLaterQueuePairs(std::function<FaultPlan(const ibv_qp&)> choose) {
  LaterPlans& plans = TheLaterPlans();
  std::lock_guard lock(plans.mu);
  plans.choose = std::move(choose);
}

FaultPlan PlanOfNewQueuePair(const ibv_qp& queue_pair) {
  LaterPlans& plans = TheLaterPlans();
  std::lock_guard lock(plans.mu);
  return plans.choose == nullptr ? FaultPlan() : plans.choose(queue_pair);
}

FaultPlan RandomFaultPlan(uint64_t seed, uint64_t requests, int count) {
  constexpr std::array kKinds = {Fault::Kind::kRefusePost, Fault::Kind::kFailRequest, Fault::Kind::kDelay,
                                 Fault::Kind::kLoseDoorbell, Fault::Kind::kDisconnect};
  constexpr std::array kStatuses = {IBV_WC_LOC_PROT_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
                                    IBV_WC_REM_OP_ERR,   IBV_WC_RETRY_EXC_ERR,   IBV_WC_RNR_RETRY_EXC_ERR,
                                    IBV_WC_GENERAL_ERR};
  std::mt19937_64 random(seed);
  FaultPlan plan;
  std::generate_n(std::back_inserter(plan), count, [&] {
    return Fault{.kind = kKinds[random() % kKinds.size()],
                 .request = 1 + random() % requests,
                 .polls = 1 + static_cast<uint32_t>(random() % kRandomPollsMax),
                 .status = kStatuses[random() % kStatuses.size()]};
  });
  return plan;
}

}  // namespace verbena::soft
