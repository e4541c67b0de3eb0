// What a GrantBudget has beyond its members' minimums, and how that grows and shrinks.

#include <optional>
#include <utility>
#include <vector>

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

// What a call now and then leaves: a third credit that it keeps.
void CallOnce(GrantBudget& budget, GrantShare& share, absl::Time now) {
  ASSERT_TRUE(share.OnSendArrived());
  share.OnMessageArrived(now);
  budget.OnReceivesReposted(1);
  share.Take(0xffff);
}

class ManyNowAndThen : public ::testing::Test {
 protected:
  static constexpr uint32_t kMembers = 100;
  static constexpr uint32_t kSpare = 40;

  ManyNowAndThen() {
    budget_.OnReceivesAdded(kSpare);
    budget_.DivideAtMost(kSpare);
    for (uint32_t i = 0; i < kMembers; ++i) shares_.push_back(Admitted(budget_, i));
  }
  // One after the other, each idle before the next has a message. How many then have a third.
  uint32_t CallRound(bool more_receives) {
    for (GrantShare& share : shares_) {
      now_ += absl::Milliseconds(20);
      EXPECT_EQ(budget_.NextWakeup(now_), std::nullopt) << "nobody has anything to give back";
      CallOnce(budget_, share, now_);
      if (more_receives && budget_.TakeSpareWanted()) budget_.OnReceivesAdded(16);
      EXPECT_LE(share.granted(), kCreditsPerConnectionMin + 1);
    }
    uint32_t thirds = 0;
    for (const GrantShare& share : shares_) thirds += share.granted() > kCreditsPerConnectionMin;
    return thirds;
  }

  GrantBudget budget_{{.idle_after = absl::Milliseconds(20)}};
  std::vector<GrantShare> shares_;
  absl::Time now_ = kStart;
};

TEST_F(ManyNowAndThen, EachHasAThirdWhenThereAreMoreReceivesAndNoneIsAskedToGiveBack) {
  while (budget_.spare() < kMembers + kSpare / 2) {
    const uint64_t before = budget_.spare();
    CallRound(/*more_receives=*/true);
    ASSERT_GT(budget_.spare(), before) << "more are of use";
  }
  EXPECT_EQ(CallRound(/*more_receives=*/true), kMembers);
  EXPECT_LT(budget_.spare(), kMembers + kSpare / 2 + 16) << "no more are of use";
}

TEST_F(ManyNowAndThen, WithoutMoreReceivesHalfOfThemIsLeftForOneThatIsBusy) {
  EXPECT_EQ(CallRound(/*more_receives=*/false), kSpare / 2);
  now_ += absl::Milliseconds(30);
  ASSERT_EQ(budget_.NextWakeup(now_), std::nullopt);
  GrantShare& busy = shares_.back();
  for (uint32_t i = 0; i < kSpare; ++i) CallOnce(budget_, busy, now_);
  EXPECT_EQ(busy.granted(), kCreditsPerConnectionMin + kSpare / 2);
}

TEST_F(ManyNowAndThen, WhatThoseThatWereActiveTogetherKeepTooManyOfIsAskedBackForOneThatIsBusy) {
  for (GrantShare& share : shares_) {
    for (int call = 0; call < 2; ++call) CallOnce(budget_, share, now_);
  }
  now_ += absl::Milliseconds(30);
  GrantShare& busy = shares_.back();
  CallOnce(budget_, busy, now_);
  ASSERT_EQ(busy.granted(), kCreditsPerConnectionMin) << "the others have all";
  uint32_t asked = 0;
  while (const std::optional<uint32_t> number = budget_.NextWakeup(now_)) {
    GrantShare& share = shares_[*number];
    ASSERT_TRUE(share.TakeReclaimWanted());
    ASSERT_TRUE(share.OnSendArrived()) << "the answer, which spends a credit";
    budget_.OnReceivesReposted(1);
    ++asked;
  }
  EXPECT_EQ(asked, kSpare / 2);
  for (uint32_t i = 0; i < kSpare; ++i) CallOnce(budget_, busy, now_);
  EXPECT_EQ(busy.granted(), kCreditsPerConnectionMin + kSpare / 2);
}

TEST_F(ManyNowAndThen, ManyThatAreBusyUseAllThatIsFree) {
  constexpr uint32_t kBusy = 25;
  EXPECT_EQ(CallRound(/*more_receives=*/false), kSpare / 2);
  now_ += absl::Milliseconds(30);
  ASSERT_EQ(budget_.NextWakeup(now_), std::nullopt);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < kBusy; ++i) CallOnce(budget_, shares_[kMembers - 1 - i], now_);
  }
  uint32_t thirds = 0;
  for (const GrantShare& share : shares_) thirds += share.granted() > kCreditsPerConnectionMin;
  EXPECT_EQ(thirds, kSpare);
}

TEST(GrantBudgetSpare, WhatANewcomerGotAndNeverUsedIsAskedBackWhenAnotherIsShort) {
  GrantBudget budget;
  budget.OnReceivesAdded(14);
  GrantShare silent = Admitted(budget, 1, /*initial=*/16), busy = Admitted(budget, 2);
  ASSERT_EQ(silent.granted(), 16u);
  EXPECT_EQ(budget.NextWakeup(kStart), std::nullopt) << "nobody is short";
  CallOnce(budget, busy, kStart);
  EXPECT_EQ(budget.NextWakeup(kStart), std::optional<uint32_t>(1));
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
