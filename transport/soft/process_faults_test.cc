#include "transport/soft/process_faults.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

class ProcessFaults : public testing::Test {
 protected:
  ~ProcessFaults() override { PlanFaultsOfProcess({}); }
};

TEST_F(ProcessFaults, ObjectsAreCountedByKindSinceThePlanWasSet) {
  FaultsOfNewObject(FaultObject::kQueuePair);
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseSend, .object = 2, .operation = 1}});
  EXPECT_TRUE(FaultsOfNewObject(FaultObject::kQueuePair).empty());
  EXPECT_TRUE(FaultsOfNewObject(FaultObject::kSharedReceiveQueue).empty());
  EXPECT_EQ(FaultsOfNewObject(FaultObject::kQueuePair).size(), 1u);
  EXPECT_TRUE(FaultsOfNewObject(FaultObject::kQueuePair).empty());
}

TEST_F(ProcessFaults, FaultOfEachObjectIsInEveryShare) {
  PlanFaultsOfProcess({{.kind = FaultKind::kRefuseSharedReceive, .operation = 1}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(FaultsOfNewObject(FaultObject::kSharedReceiveQueue).size(), 1u);
}

TEST_F(ProcessFaults, CallsAreCountedByKind) {
  PlanFaultsOfProcess({{.kind = FaultKind::kRejectConnect, .operation = 2, .amount = 28}});
  EXPECT_FALSE(FaultOfNextCall(FaultOperation::kConnect).has_value());
  EXPECT_FALSE(FaultOfNextCall(FaultOperation::kAccept).has_value());
  EXPECT_EQ(FaultOfNextCall(FaultOperation::kConnect)->amount, 28u);
  EXPECT_FALSE(FaultOfNextCall(FaultOperation::kConnect).has_value());
}

TEST_F(ProcessFaults, QueuePairsKnowThatPostsAreCounted) {
  PlanFaultsOfProcess({{.kind = FaultKind::kPortDown, .operation = 2}});
  EXPECT_EQ(FaultsOfNewObject(FaultObject::kQueuePair).size(), 1u);
  EXPECT_TRUE(FaultsOfNewObject(FaultObject::kCompletionQueue).empty());
  EXPECT_FALSE(FaultOfNextCall(FaultOperation::kPost).has_value());
  EXPECT_EQ(FaultOfNextCall(FaultOperation::kPost)->kind, FaultKind::kPortDown);
}

}  // namespace
}  // namespace verbena::soft
