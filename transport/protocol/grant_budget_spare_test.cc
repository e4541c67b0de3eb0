// What a GrantBudget has beyond its members' minimums, and how that grows and shrinks.

#include <utility>

#include "gtest/gtest.h"
#include "transport/protocol/grant_budget.h"
#include "transport/protocol/grant_budget_fixture.h"

namespace verbena::protocol {
namespace {

TEST(GrantBudgetSpare, MoreIsOfUseWhileThereIsNotOneBeyondTheMinimumForEachThatIsActive) {
  GrantBudget budget;
  budget.OnReceivesAdded(1);
  GrantShare one = Admitted(budget, 1), other = Admitted(budget, 2);
  EXPECT_FALSE(budget.TakeSpareWanted()) << "nobody is active";
  one.OnMessageArrived(kStart);
  EXPECT_FALSE(budget.TakeSpareWanted());
  other.OnMessageArrived(kStart);
  EXPECT_TRUE(budget.TakeSpareWanted());
  budget.OnReceivesAdded(1);
  EXPECT_FALSE(budget.TakeSpareWanted());
  EXPECT_EQ(one.Take(0xffff), 1);
  EXPECT_EQ(other.Take(0xffff), 1);
}

TEST(GrantBudgetSpare, MoreIsOfUseWhereMembersThatAreIdleHoldWhatIsSpareAndHaveNoneToGiveBack) {
  GrantBudget budget({.idle_after = absl::Milliseconds(20)});
  budget.OnReceivesAdded(1);
  GrantShare holder = Admitted(budget, 1), busy = Admitted(budget, 2);
  holder.OnMessageArrived(kStart);
  ASSERT_EQ(holder.Take(0xffff), 1);
  const absl::Time later = kStart + absl::Milliseconds(30);
  busy.OnMessageArrived(later);
  budget.NextWakeup(later);
  EXPECT_FALSE(budget.TakeSpareWanted());
  EXPECT_EQ(busy.Take(0xffff), 0);
  budget.NextWakeup(later);
  EXPECT_TRUE(budget.TakeSpareWanted());
  EXPECT_FALSE(budget.TakeSpareWanted()) << "it is told once";
}

TEST(GrantBudgetSpare, WhatIsConsumedIsNotLacked) {
  GrantBudget budget;
  budget.OnReceivesAdded(1);
  GrantShare idle = Admitted(budget, 1), busy = Admitted(budget, 2);
  busy.OnMessageArrived(kStart);
  ASSERT_EQ(busy.Take(0xffff), 1);
  ASSERT_TRUE(busy.OnSendArrived());
  EXPECT_EQ(busy.Take(0xffff), 0);
  EXPECT_FALSE(budget.TakeSpareWanted()) << "it comes back";
}

TEST(GrantBudgetSpare, WhatIsSpareLeavesWhenItIsNeitherGrantedNorConsumed) {
  GrantBudget budget;
  budget.OnReceivesAdded(3);
  GrantShare share = Admitted(budget, 1);
  share.OnMessageArrived(kStart);
  ASSERT_EQ(share.Take(1), 1);
  budget.OnReceivesTaken(1);
  EXPECT_EQ(budget.spare(), 3u);
  EXPECT_EQ(budget.TakeSpare(10), 1u) << "a minimum is not spare";
  EXPECT_EQ(budget.receives(), 2 + kCreditsPerConnectionMin);
  budget.OnReceivesReposted(1);
  EXPECT_EQ(budget.TakeSpare(2), 1u);
  ASSERT_TRUE(share.OnSendArrived());
  budget.OnReceivesReposted(1);
  EXPECT_EQ(budget.TakeSpare(1), 1u);
  EXPECT_EQ(budget.spare(), 0u);
}

TEST(GrantBudgetSpare, WhatIsBeyondThatWhichIsDividedIsForOneEach) {
  GrantBudget budget;
  budget.OnReceivesAdded(10);
  budget.DivideAtMost(2);
  GrantShare one = Admitted(budget, 1), two = Admitted(budget, 2), three = Admitted(budget, 3);
  MakeBusy(one);
  EXPECT_EQ(one.target(), kCreditsPerConnectionMin + 2);
  two.OnMessageArrived(kStart);
  three.OnMessageArrived(kStart);
  EXPECT_EQ(one.target(), kCreditsPerConnectionMin + 1);
}

}  // namespace
}  // namespace verbena::protocol
