#include "transport/soft/fault_injector.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

TEST(FaultInjector, FaultBefallsItsOperationAlone) {
  FaultInjector injector({{.kind = FaultKind::kDelay, .operation = 2, .amount = 9}});
  injector.Count(FaultOperation::kRequest);
  EXPECT_FALSE(injector.Befalls(FaultKind::kDelay));
  injector.Count(FaultOperation::kRequest);
  EXPECT_EQ(injector.Take(FaultKind::kDelay)->amount, 9u);
  EXPECT_FALSE(injector.Befalls(FaultKind::kDelay));
}

TEST(FaultInjector, FaultOfEachOperationStays) {
  FaultInjector injector({{.kind = FaultKind::kLoseDoorbell}});
  for (int i = 0; i < 3; ++i) {
    injector.Count(FaultOperation::kRequest);
    EXPECT_TRUE(injector.Befalls(FaultKind::kLoseDoorbell));
  }
}

TEST(FaultInjector, OperationsAreCountedApart) {
  FaultInjector injector({{.kind = FaultKind::kDelay, .operation = 1}});
  injector.Count(FaultOperation::kReceive);
  EXPECT_FALSE(injector.Befalls(FaultKind::kDelay));
}

TEST(FaultInjector, RefusedOperationDoesNotCount) {
  FaultInjector injector(
      {{.kind = FaultKind::kRefuseSend, .operation = 1}, {.kind = FaultKind::kDisconnect, .operation = 1}});
  EXPECT_TRUE(injector.Refuses(FaultKind::kRefuseSend));
  EXPECT_FALSE(injector.Refuses(FaultKind::kRefuseSend));
  injector.Count(FaultOperation::kRequest);
  EXPECT_TRUE(injector.Befalls(FaultKind::kDisconnect));
}

}  // namespace
}  // namespace verbena::soft
