#include "transport/protocol/grant_budget.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/grant_budget_fixture.h"

namespace verbena::protocol {
namespace {

TEST(GrantBudget, WithoutReceivesNobodyIsAdmitted) {
  GrantBudget budget;
  budget.OnReceivesAdded(1);
  EXPECT_EQ(budget.Admit(0, 2).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(GrantBudget, AnIdleMemberHoldsItsMinimum) {
  GrantBudget budget;
  budget.OnReceivesAdded(100);
  GrantShare share = Admitted(budget, 0);
  EXPECT_EQ(share.granted(), kCreditsPerConnectionMin);
  EXPECT_EQ(share.Grantable(), 0u);
}

TEST(GrantBudget, AnActiveMemberGetsUpToTheWindow) {
  GrantBudget budget({.credits_per_connection_max = 16});
  budget.OnReceivesAdded(100);
  GrantShare share = Admitted(budget, 0);
  MakeBusy(share);
  EXPECT_EQ(share.Take(0xffff), 14);
  EXPECT_EQ(share.granted(), 16u);
  EXPECT_EQ(budget.outstanding(), 16u);
}

TEST(GrantBudget, ActiveMembersShareWhatIsSpare) {
  GrantBudget budget;
  budget.OnReceivesAdded(20);
  GrantShare one = Admitted(budget, 1), other = Admitted(budget, 2);
  MakeBusy(one);
  MakeBusy(other);
  EXPECT_EQ(one.target(), 12u);
  EXPECT_EQ(other.target(), 12u);
}

TEST(GrantBudget, AnActiveMemberMayHoldOneMoreWithEachMessageThatArrives) {
  GrantBudget budget({.idle_after = absl::Milliseconds(20)});
  budget.OnReceivesAdded(100);
  GrantShare share = Admitted(budget, 0);
  for (uint32_t more = 1; more <= 5; ++more) {
    share.OnMessageArrived(kStart);
    EXPECT_EQ(share.target(), kCreditsPerConnectionMin + more);
  }
  budget.NextWakeup(kStart + absl::Milliseconds(20));
  EXPECT_EQ(share.target(), kCreditsPerConnectionMin);
  share.OnMessageArrived(kStart + absl::Milliseconds(20));
  EXPECT_EQ(share.target(), kCreditsPerConnectionMin + 1) << "it begins again";
}

TEST(GrantBudget, WhatAMemberMayHoldGrowsNoFurtherThanAFairShare) {
  GrantBudget budget({.idle_after = absl::Milliseconds(20)});
  budget.OnReceivesAdded(6);
  GrantShare one = Admitted(budget, 1), other = Admitted(budget, 2);
  const absl::Time later = kStart + absl::Milliseconds(10);
  other.OnMessageArrived(kStart);
  for (int i = 0; i < 20; ++i) one.OnMessageArrived(later);
  EXPECT_EQ(one.target(), kCreditsPerConnectionMin + 3);
  budget.NextWakeup(kStart + absl::Milliseconds(20));  // The other is idle.
  EXPECT_EQ(one.target(), kCreditsPerConnectionMin + 3);
  one.OnMessageArrived(later);
  EXPECT_EQ(one.target(), kCreditsPerConnectionMin + 4);
}

TEST(GrantBudget, AMemberThatBecomesActiveMayHoldWhatItHeld) {
  GrantBudget budget;
  budget.OnReceivesAdded(100);
  GrantShare share = Admitted(budget, 0, /*initial=*/8);
  ASSERT_TRUE(share.OnSendArrived());
  share.OnMessageArrived(kStart);
  EXPECT_EQ(share.Take(0xffff), 1) << "what it used";
}

TEST(GrantBudget, AMessageThatIsSentMakesAMemberActiveAndNoLargerThanForItsAnswer) {
  GrantBudget budget;
  budget.OnReceivesAdded(100);
  GrantShare share = Admitted(budget, 0);
  for (int i = 0; i < 5; ++i) share.OnMessageSent();
  EXPECT_EQ(share.target(), kCreditsPerConnectionMin + 1);
}

TEST(GrantBudget, AnotherMembersMinimumIsNotGrantedAway) {
  GrantBudget budget;
  GrantShare busy = Admitted(budget, 1), poor = Admitted(budget, 2);
  ASSERT_TRUE(poor.OnSendArrived());
  budget.OnReceivesReposted(1);
  busy.OnMessageArrived(kStart);
  EXPECT_EQ(busy.Grantable(), 0u);  // One receive is free: the poor one's.
  EXPECT_EQ(poor.Grantable(), 1u);
}

TEST(GrantBudget, NothingIsGrantedForAConsumedReceiveBeforeItsRepost) {
  GrantBudget budget;
  GrantShare share = Admitted(budget, 0);
  ASSERT_TRUE(share.OnSendArrived());
  EXPECT_EQ(share.Grantable(), 0u);
  budget.OnReceivesReposted(1);
  EXPECT_EQ(share.Grantable(), 1u);
}

TEST(GrantBudget, AFrameBeyondTheGrantsIsTold) {
  GrantBudget budget;
  GrantShare share = Admitted(budget, 0);
  EXPECT_TRUE(share.OnSendArrived());
  EXPECT_TRUE(share.OnSendArrived());
  EXPECT_FALSE(share.OnSendArrived());
}

TEST(GrantBudget, AnOverdrawnBudgetGrantsNothingUntilTheReceivesAreBack) {
  GrantBudget budget;
  GrantShare thief = Admitted(budget, 1), victim = Admitted(budget, 2);
  for (int i = 0; i < 3; ++i) thief.OnSendArrived();
  EXPECT_EQ(victim.Grantable(), 0u);
  EXPECT_LT(budget.posted(), budget.outstanding());
  budget.OnReceivesReposted(3);
  EXPECT_GE(budget.posted(), budget.outstanding());
}

TEST(GrantBudget, ADestroyedShareGivesEverythingBack) {
  GrantBudget budget;
  budget.OnReceivesAdded(10);
  {
    GrantShare share = Admitted(budget, 0, 8);
    EXPECT_EQ(budget.outstanding(), 8u);
  }
  EXPECT_EQ(budget.outstanding(), 0u);
  EXPECT_EQ(budget.members(), 0u);
}

TEST(GrantBudget, TheMinimumOfAProvidedMemberIsKeptUntilItComes) {
  GrantBudget budget;
  GrantShare rich = Admitted(budget, 1);
  budget.OnReceivesAdded(kCreditsPerConnectionMin);
  budget.ProvideFor(2);
  rich.OnMessageArrived(kStart);
  EXPECT_EQ(rich.Grantable(), 0u);
  absl::StatusOr<GrantShare> newcomer = budget.Admit(2, 16);
  ASSERT_TRUE(newcomer.ok()) << newcomer.status();
  EXPECT_EQ(newcomer->granted(), kCreditsPerConnectionMin);
}

TEST(GrantBudget, WhatANewcomerGetsBeyondItsMinimumIsNotAnotherNewcomersMinimum) {
  GrantBudget budget;
  budget.OnReceivesAdded(2 * kCreditsPerConnectionMin + 3);
  budget.ProvideFor(2);
  absl::StatusOr<GrantShare> first = budget.Admit(1, 16);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->granted(), kCreditsPerConnectionMin + 3);
  EXPECT_TRUE(budget.Admit(2, 16).ok());
}

TEST(GrantBudget, WhatWasProvidedForOthersLeavesTheBudgetAndNobodysGrantsOrShareChange) {
  GrantBudget budget;
  budget.OnReceivesAdded(10 + 4 * kCreditsPerConnectionMin);
  budget.ProvideFor(5);
  GrantShare rich = Admitted(budget, 1);
  MakeBusy(rich);
  rich.Take(0xffff);
  const uint32_t granted = rich.granted(), share = rich.target();
  EXPECT_EQ(granted, kCreditsPerConnectionMin + 10);
  ASSERT_TRUE(budget.ProvideForFewer(1));
  EXPECT_EQ(budget.receives(), 10 + kCreditsPerConnectionMin);
  EXPECT_EQ(budget.posted(), budget.outstanding());
  EXPECT_EQ(rich.granted(), granted);
  EXPECT_EQ(rich.target(), share);
  EXPECT_EQ(budget.Admit(2, 2).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(GrantBudget, WhatIsConsumedMayBePostedAgainAfterOthersHaveLeft) {
  GrantBudget budget;
  budget.OnReceivesAdded(kCreditsPerConnectionMin);
  budget.ProvideFor(2);
  GrantShare share = Admitted(budget, 1);
  share.OnSendArrived();
  share.OnSendArrived();
  ASSERT_TRUE(budget.ProvideForFewer(1));
  EXPECT_EQ(budget.posted(), 0u);
  EXPECT_EQ(share.Grantable(), 0u);
  budget.OnReceivesReposted(2);
  EXPECT_EQ(share.Grantable(), kCreditsPerConnectionMin);
}

TEST(GrantBudget, WhileReceivesAreConsumedThatNoShareHasSeenNothingLeaves) {
  GrantBudget budget;
  budget.OnReceivesAdded(kCreditsPerConnectionMin);
  budget.ProvideFor(2);
  const GrantShare share = Admitted(budget, 1);
  budget.OnReceivesTaken(1);
  EXPECT_FALSE(budget.ProvideForFewer(1));
  EXPECT_EQ(budget.receives(), 2 * kCreditsPerConnectionMin);
  budget.OnReceivesReposted(1);
  EXPECT_TRUE(budget.ProvideForFewer(1));
}

// Members, provided or not, that come, send, are served and go, in any order.
class RandomMembers {
 public:
  explicit RandomMembers(uint64_t seed) : random_(seed) { budget_.OnReceivesAdded(Number(0, 60)); }

  void Step() {
    now_ += absl::Milliseconds(Number(0, 10));
    switch (Number(0, 7)) {
      case 0:
        return Come();
      case 1:
        return Go();
      case 2:
        return Shrink();
      case 3:
        return Repost(Number(0, static_cast<uint32_t>(budget_.consumed())));
      case 4:
        return TakeUnseen();
      case 5:
        return ChangeSpare();
      default:
        return Send();
    }
  }
  void Check() const {
    uint64_t promised = 0;
    for (const Peer& peer : peers_) promised += std::max(peer.share.granted(), kCreditsPerConnectionMin);
    ASSERT_LE(promised, budget_.receives());
    ASSERT_LE(budget_.outstanding(), budget_.posted() + unseen_);
  }
  // Whatever was withdrawn, each has its minimum back when it is idle and the receives are there.
  void Settle() {
    Repost(static_cast<uint32_t>(budget_.consumed()));
    for (Peer& peer : peers_) peer.share.Take(0xffff);
    for (const Peer& peer : peers_) ASSERT_GE(peer.share.granted(), kCreditsPerConnectionMin);
    Check();
  }

 private:
  struct Peer {
    GrantShare share;
    uint32_t unseen = 0;  // Of its frames that arrived, those that the share was not told of.
  };

  uint32_t Number(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }
  Peer* Any() { return peers_.empty() ? nullptr : &peers_[Number(0, static_cast<uint32_t>(peers_.size() - 1))]; }

  void Come() {
    if (peers_.size() == provided_) {
      budget_.OnReceivesAdded(kCreditsPerConnectionMin);
      budget_.ProvideFor(++provided_);
    }
    absl::StatusOr<GrantShare> share = budget_.Admit(0, static_cast<uint16_t>(Number(2, 8)));
    if (share.ok()) return peers_.push_back({*std::move(share)});
    ASSERT_GT(budget_.consumed(), 0u) << share.status();
  }
  void Go() {
    Peer* const peer = Any();
    if (peer == nullptr) return;
    unseen_ -= peer->unseen;
    std::swap(*peer, peers_.back());
    peers_.pop_back();
  }
  void Shrink() {
    const uint32_t fewer = Number(static_cast<uint32_t>(peers_.size()), provided_);
    if (budget_.ProvideForFewer(fewer)) provided_ = fewer;
  }
  void ChangeSpare() {
    if (budget_.TakeSpareWanted()) budget_.OnReceivesAdded(Number(1, 20));
    budget_.TakeSpare(Number(0, 10));
  }
  void Repost(uint32_t count) { budget_.OnReceivesReposted(count); }
  void TakeUnseen() {  // A frame of one that is ending.
    Peer* const peer = Any();
    if (peer == nullptr || peer->share.granted() == peer->unseen) return;
    budget_.OnReceivesTaken(1);
    ++peer->unseen;
    ++unseen_;
  }
  void Send() {
    Peer* const peer = Any();
    if (peer == nullptr || peer->unseen > 0) return;
    if (peer->share.granted() > 0) peer->share.OnSendArrived();
    peer->share.OnMessageArrived(now_);
    peer->share.Take(0xffff);
    while (budget_.NextWakeup(now_).has_value()) {
    }
  }

  std::minstd_rand random_;
  GrantBudget budget_;
  std::vector<Peer> peers_;
  absl::Time now_ = kStart;
  uint32_t provided_ = 0;
  uint32_t unseen_ = 0;
};

TEST(GrantBudget, WhoeverComesAndGoesNoGrantIsWithoutAReceive) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomMembers members(seed);
    for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) {
      members.Step();
      members.Check();
    }
    members.Settle();
  }
}

TEST(GrantBudget, AStarvingMemberIsWokenWhenItsReceivesAreBack) {
  GrantBudget budget;
  GrantShare share = Admitted(budget, 7);
  share.OnSendArrived();
  share.OnSendArrived();
  share.WaitFor(2);
  budget.OnReceivesReposted(1);
  EXPECT_EQ(budget.NextWakeup(kStart), std::nullopt);
  budget.OnReceivesReposted(1);
  EXPECT_EQ(budget.NextWakeup(kStart), std::optional<uint32_t>(7));
  EXPECT_EQ(budget.NextWakeup(kStart), std::nullopt);
}

TEST(GrantBudget, AnIdleRichMemberIsAskedToGiveBackWhenAnotherIsShort) {
  GrantBudget budget({.idle_after = absl::Milliseconds(20)});
  budget.OnReceivesAdded(8);
  GrantShare rich = Admitted(budget, 1), busy = Admitted(budget, 2);
  MakeBusy(rich);
  rich.Take(0xffff);
  const absl::Time later = kStart + absl::Milliseconds(30);
  busy.OnMessageArrived(later);
  busy.Take(0xffff);  // Short: the rich one has it all.
  EXPECT_EQ(budget.NextWakeup(later), std::optional<uint32_t>(1));
  EXPECT_TRUE(rich.TakeReclaimWanted());
  EXPECT_FALSE(rich.TakeReclaimWanted());
  EXPECT_EQ(budget.NextWakeup(later), std::nullopt);
  ASSERT_TRUE(rich.OnReturned(rich.granted() - 2));
  EXPECT_GT(busy.Grantable(), 0u);
}

TEST(GrantBudget, AnActiveMemberIsNotAskedToGiveBack) {
  GrantBudget budget;
  budget.OnReceivesAdded(8);
  GrantShare rich = Admitted(budget, 1), busy = Admitted(budget, 2);
  MakeBusy(rich);
  rich.Take(0xffff);
  busy.OnMessageArrived(kStart);
  busy.Take(0xffff);
  EXPECT_EQ(budget.NextWakeup(kStart + absl::Milliseconds(1)), std::nullopt);
}

TEST(GrantBudget, EachMemberIsIdleWhenItsOwnSilenceHasLasted) {
  GrantBudget budget({.idle_after = absl::Milliseconds(20)});
  budget.OnReceivesAdded(100);
  GrantShare one = Admitted(budget, 1), other = Admitted(budget, 2);
  const auto are_active = [&](int milliseconds) {
    budget.NextWakeup(kStart + absl::Milliseconds(milliseconds));
    return std::pair(one.target() > kCreditsPerConnectionMin, other.target() > kCreditsPerConnectionMin);
  };
  EXPECT_EQ(are_active(0), std::pair(false, false));
  one.OnMessageArrived(kStart);
  other.OnMessageArrived(kStart);
  one.OnMessageArrived(kStart + absl::Milliseconds(10));
  EXPECT_EQ(are_active(19), std::pair(true, true));
  EXPECT_EQ(are_active(20), std::pair(true, false));
  EXPECT_EQ(are_active(29), std::pair(true, false));
  EXPECT_EQ(are_active(30), std::pair(false, false));
  other.OnMessageArrived(kStart + absl::Milliseconds(40));
  EXPECT_EQ(are_active(59), std::pair(false, true));
  EXPECT_EQ(are_active(60), std::pair(false, false));
}

TEST(GrantBudget, MoreReturnedThanGrantedIsTold) {
  GrantBudget budget;
  GrantShare share = Admitted(budget, 0);
  EXPECT_FALSE(share.OnReturned(3));
  EXPECT_TRUE(share.OnReturned(2));
}

}  // namespace
}  // namespace verbena::protocol
