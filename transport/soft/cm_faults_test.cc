// Faults that befall the calls of the connection manager.

#include <cerrno>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fault_plan.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

class CmFaults : public ::testing::Test {
 protected:
  ~CmFaults() override { PlanFaultsOfProcess({}); }

  // The outcome of connecting under `plan`.
  SeenEvent ConnectUnder(FaultPlan plan) {
    listener_ = passive_.Listen();
    rdma_cm_id* id = active_.Resolve(PortOf(listener_));
    PlanFaultsOfProcess(std::move(plan));
    EXPECT_EQ(active_.Connect(id), 0);
    return active_.Next();
  }
  rdma_cm_event_type PassiveEventOfTheNextConnect() {
    active_.Connect(active_.Resolve(PortOf(listener_)));
    return passive_.Next().type;
  }

  CmParty active_;
  CmParty passive_;
  rdma_cm_id* listener_ = nullptr;
};

TEST_F(CmFaults, ResolvingFailsOnce) {
  PlanFaultsOfProcess({{.kind = FaultKind::kFailResolve, .operation = 1}});
  rdma_cm_id* id = active_.NewId();
  sockaddr_in address = Address4("127.0.0.1", 7471);
  EXPECT_EQ(CmResolveAddr(id, nullptr, reinterpret_cast<sockaddr*>(&address), 1000), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_EQ(event.status, -ETIMEDOUT);
  EXPECT_EQ(CmResolveAddr(id, nullptr, reinterpret_cast<sockaddr*>(&address), 1000), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST_F(CmFaults, ConnectIsRejectedWithThatReason) {
  SeenEvent event = ConnectUnder({{.kind = FaultKind::kRejectConnect, .operation = 1, .amount = 10}});
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 10);
  EXPECT_EQ(PassiveEventOfTheNextConnect(), RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(CmFaults, ConnectFindsNobodyReachable) {
  SeenEvent event = ConnectUnder({{.kind = FaultKind::kUnreachableConnect, .operation = 1}});
  EXPECT_EQ(event.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event.status, -ETIMEDOUT);
}

TEST_F(CmFaults, LostRequestNeverArrivesAndTheNextDoes) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kLoseConnect, .operation = 1}});
  EXPECT_EQ(active_.Connect(id), 0);
  rdma_cm_id* second = active_.Resolve(PortOf(listener_));
  EXPECT_EQ(active_.Connect(second), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_TRUE(passive_.Quiet());
  EXPECT_TRUE(active_.Quiet());
}

TEST_F(CmFaults, SlowConnectSendsItsRequestWhenTheTimeIsOver) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kSlowConnect, .operation = 1, .amount = 300}});
  const absl::Time begin = absl::Now();
  EXPECT_EQ(active_.Connect(id), 0);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(300));
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(CmFaults, QueuePairIsNotDestroyedBeforeALateReturn) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kLateReturn, .operation = 1, .amount = 300}});
  const absl::Time begin = absl::Now();
  std::thread connecting([&] { EXPECT_EQ(active_.Connect(id), 0); });
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_CONNECT_REQUEST) << "before the return";
  CmDestroyQp(id);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(300));
  connecting.join();
}

TEST_F(CmFaults, LostReplyEstablishesNeitherEnd) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kLoseAccept, .operation = 1}});
  EXPECT_EQ(active_.Connect(id), 0);
  SeenEvent request = passive_.Next();
  passive_.MakeQueuePair(request.id);
  EXPECT_EQ(passive_.Accept(request.id), 0);
  active_.Destroy(id);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_REJECTED) << "and not ESTABLISHED before";
}

TEST_F(CmFaults, LateConfirmationEstablishesTheActiveEndFirst) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kLateConfirmation, .operation = 1, .amount = 300}});
  EXPECT_EQ(active_.Connect(id), 0);
  SeenEvent request = passive_.Next();
  passive_.MakeQueuePair(request.id);
  const absl::Time accepted = absl::Now();
  EXPECT_EQ(passive_.Accept(request.id), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_GE(absl::Now() - accepted, absl::Milliseconds(300));
}

TEST_F(CmFaults, NoticeOfFirstUseIsNotKeptBackByALateConfirmation) {
  listener_ = passive_.Listen();
  rdma_cm_id* id = active_.Resolve(PortOf(listener_));
  PlanFaultsOfProcess({{.kind = FaultKind::kLateConfirmation, .operation = 1, .amount = 60'000}});
  EXPECT_EQ(active_.Connect(id), 0);
  SeenEvent request = passive_.Next();
  passive_.MakeQueuePair(request.id);
  EXPECT_EQ(passive_.Accept(request.id), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(CmNotify(request.id, IBV_EVENT_COMM_EST), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(CmDisconnect(id), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

}  // namespace
}  // namespace verbena::soft
