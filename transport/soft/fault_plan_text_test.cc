// Fault plans as text, and random ones.

#include <array>
#include <set>

#include "gtest/gtest.h"
#include "transport/soft/fault_kinds.h"
#include "transport/soft/fault_plan.h"

namespace verbena::soft {
namespace {

std::string ErrorOf(absl::string_view text) { return std::string(ParseFaultPlan(text).status().message()); }

TEST(FaultPlanText, ReadsFaultsOfEveryForm) {
  const FaultPlan expected = {
      {.kind = FaultKind::kFailRequest, .object = 2, .operation = 5, .status = IBV_WC_REM_ACCESS_ERR},
      {.kind = FaultKind::kDelay, .operation = 1, .amount = 30},
      {.kind = FaultKind::kRefuseDirect, .object = 3},
      {.kind = FaultKind::kNarrowRing, .object = 3, .amount = 512},
      {.kind = FaultKind::kRejectConnect, .operation = 1, .amount = 28}};
  const auto plan = ParseFaultPlan(
      "qp=2,request=5:fail=REM_ACCESS_ERR; qp = * , request = 1 : delay = 30; "
      "qp=3:refuse-direct;qp=3:ring=512;connect=1:reject=28;");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, expected);
}

TEST(FaultPlanText, SameWordMeansTheFaultOfItsPlace) {
  const auto plan = ParseFaultPlan("qp=1,request=1:refuse;qp=1,receive=1:refuse;srq=1,receive=1:refuse");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->at(0).kind, FaultKind::kRefuseSend);
  EXPECT_EQ(plan->at(1).kind, FaultKind::kRefuseReceive);
  EXPECT_EQ(plan->at(2).kind, FaultKind::kRefuseSharedReceive);
}

TEST(FaultPlanText, EveryKindSurvivesBeingWrittenAndRead) {
  FaultPlan plan;
  for (const FaultTraits& each : AllFaultKinds()) {
    Fault fault = {.kind = each.kind, .object = each.object == FaultObject::kProcess ? 0u : 7u};
    if (each.operation != FaultOperation::kLife) fault.operation = 11;
    if (each.argument == FaultArgument::kAmount) fault.amount = 13;
    if (each.argument == FaultArgument::kStatus) fault.status = IBV_WC_REM_OP_ERR;
    plan.push_back(fault);
  }
  const auto again = ParseFaultPlan(FormatFaultPlan(plan));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, plan);
}

TEST(FaultPlanText, SeedStandsForItsRandomPlan) {
  const auto plan = ParseFaultPlan("seed=7;count=4;objects=2;operations=9;qp=1,request=1:refuse");
  ASSERT_TRUE(plan.ok()) << plan.status();
  FaultPlan expected = RandomFaultPlan({.seed = 7, .count = 4, .objects = 2, .operations = 9});
  expected.push_back({.kind = FaultKind::kRefuseSend, .object = 1, .operation = 1});
  EXPECT_EQ(*plan, expected);
}

TEST(FaultPlanText, KindsChooseWhatARandomPlanIsMadeOf) {
  EXPECT_EQ(*ParseFaultPlan("kinds=harmless;seed=7"), RandomFaultPlan({.seed = 7, .kinds = FaultKinds::kHarmless}));
  EXPECT_EQ(*ParseFaultPlan("kinds=survivable;seed=7"), RandomFaultPlan({.seed = 7}));
}

TEST(FaultPlanText, NothingIsNoFault) { EXPECT_EQ(*ParseFaultPlan(" ; "), FaultPlan()); }

TEST(FaultPlanText, MistakeIsQuotedAndExplained) {
  EXPECT_EQ(ErrorOf("qp=1,request=1:explode"),
            "fault plan: \"qp=1,request=1:explode\": what can happen there: refuse, fail, delay, hold-sends, "
            "hold-receives, lose-doorbell, double-doorbell, drop-empty, trickle, disconnect");
  EXPECT_EQ(ErrorOf("qp=0:refuse-direct"), "fault plan: \"qp=0:refuse-direct\": qp wants a number from 1, or *");
  EXPECT_EQ(ErrorOf("count=3"), "fault plan: \"count=3\": a random plan wants a seed");
}

TEST(FaultPlanText, MalformedPlansAreRefused) {
  constexpr std::array kMalformed = {"seed=",
                                     "seed=x",
                                     "seed=1;count=0",
                                     "seed=1;count=4000000000",
                                     "seed=1;kinds=fatal",
                                     "nonsense",
                                     "seed=1;what=2",
                                     "qp=1",
                                     "qp=1,request=1:",
                                     "qp=1,qp=2:refuse-direct",
                                     "qp=1,request=-1:refuse",
                                     "port=1:refuse",
                                     "qp=1,request:x",
                                     "qp=1,request=1:refuse=1",
                                     "qp=1,request=1:delay",
                                     "qp=1,request=1:delay=0",
                                     ":refuse",
                                     "qp=1:refuse",
                                     "qp=1,request=1:fail=OK",
                                     "qp=1,request=1:fail",
                                     "qp=1,,request=1:refuse"};
  for (const char* text : kMalformed) {
    EXPECT_EQ(ParseFaultPlan(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(RandomFaultPlan, FollowsFromTheSeed) {
  EXPECT_EQ(RandomFaultPlan({.seed = 7, .count = 50}), RandomFaultPlan({.seed = 7, .count = 50}));
  EXPECT_NE(RandomFaultPlan({.seed = 7, .count = 50}), RandomFaultPlan({.seed = 8, .count = 50}));
}

class RandomFaultPlanOfKinds : public testing::TestWithParam<FaultKinds> {};

TEST_P(RandomFaultPlanOfKinds, HasEachOfThemAndNoOther) {
  std::set<FaultKind> met;
  const RandomFaults choice = {.kinds = GetParam(), .count = 2000, .objects = 4, .operations = 30};
  for (const Fault& fault : RandomFaultPlan(choice)) {
    met.insert(fault.kind);
    EXPECT_LE(fault.object, 4u);
    EXPECT_LE(fault.operation, 30u);
  }
  for (const FaultTraits& each : AllFaultKinds()) {
    EXPECT_EQ(met.contains(each.kind), Includes(choice.kinds, each)) << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomFaultPlanOfKinds,
                         testing::Values(FaultKinds::kSurvivable, FaultKinds::kHarmless));

TEST(HarmlessFaults, RefuseFailAndEndNothing) {
  for (const FaultKind kind : {FaultKind::kRefuseSend, FaultKind::kFailRequest, FaultKind::kDropEmpty,
                               FaultKind::kDisconnect, FaultKind::kRefuseReceive, FaultKind::kNotReady,
                               FaultKind::kLoseConnect, FaultKind::kOverrun, FaultKind::kDeviceFatal}) {
    EXPECT_FALSE(Includes(FaultKinds::kHarmless, TraitsOf(kind))) << TraitsOf(kind).name;
  }
}

}  // namespace
}  // namespace verbena::soft
