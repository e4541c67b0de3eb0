#include "transport/protocol/credit_window.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

constexpr bool kInitiator = true;
constexpr bool kAcceptor = false;

// A window whose peer was granted two credits, on a budget with `spare` receives beyond.
class CreditWindowTest : public testing::Test {
 protected:
  CreditWindow MakeWindow(bool initiator, uint32_t held, uint32_t spare = 0) {
    budget_.OnReceivesAdded(kCreditsPerConnectionMin + spare);
    return CreditWindow(initiator, held, *budget_.Admit(0, 2));
  }
  void ConsumeAndRepost(CreditWindow& window) {
    ASSERT_TRUE(window.OnSendArrived().ok());
    budget_.OnReceivesReposted(1);
  }
  GrantBudget budget_;
};

TEST_F(CreditWindowTest, WithoutCreditsNothingIsSent) {
  CreditWindow window = MakeWindow(kInitiator, 0);
  EXPECT_FALSE(window.MaySpend());
}

TEST_F(CreditWindowTest, EveryFrameCarriesTheGrantsOfTheMoment) {
  CreditWindow window = MakeWindow(kInitiator, 5);
  EXPECT_EQ(window.Spend(), 0);
  ConsumeAndRepost(window);
  EXPECT_EQ(window.Spend(), 1);
  EXPECT_EQ(window.held(), 3u);
}

TEST_F(CreditWindowTest, TheAcceptorsLastCreditNeedsANewGrant) {
  CreditWindow window = MakeWindow(kAcceptor, 1);
  EXPECT_FALSE(window.MaySpend());  // The peer has two of ours; there is none to add.
  ConsumeAndRepost(window);
  EXPECT_TRUE(window.MaySpend());
  EXPECT_EQ(window.Spend(), 1);
}

TEST_F(CreditWindowTest, TheInitiatorsLastCreditNeedsAPeerThatCanAnswer) {
  CreditWindow window = MakeWindow(kInitiator, 1);
  EXPECT_TRUE(window.MaySpend());
  ASSERT_TRUE(window.OnSendArrived().ok());
  ASSERT_TRUE(window.OnSendArrived().ok());  // The peer has none now, and nothing is reposted.
  EXPECT_FALSE(window.MaySpend());
}

TEST_F(CreditWindowTest, TheInitiatorRefillsAnAcceptorBelowItsMinimum) {
  CreditWindow window = MakeWindow(kInitiator, 2);
  EXPECT_FALSE(window.GrantDue());
  ConsumeAndRepost(window);
  EXPECT_TRUE(window.GrantDue());
}

TEST_F(CreditWindowTest, TheAcceptorRefillsOnlyAnInitiatorWithoutAny) {
  CreditWindow window = MakeWindow(kAcceptor, 2);
  ConsumeAndRepost(window);
  EXPECT_FALSE(window.GrantDue());
  ConsumeAndRepost(window);
  EXPECT_TRUE(window.GrantDue());
  EXPECT_EQ(window.Spend(), 2);
}

TEST_F(CreditWindowTest, AGrantThatMustWaitForARepostIsWokenByIt) {
  CreditWindow window = MakeWindow(kInitiator, 2);
  ASSERT_TRUE(window.OnSendArrived().ok());
  EXPECT_FALSE(window.GrantDue());
  budget_.OnReceivesReposted(1);
  EXPECT_TRUE(budget_.NextWakeup(absl::UnixEpoch()).has_value());
  EXPECT_TRUE(window.GrantDue());
}

TEST_F(CreditWindowTest, AWideWindowIsRefilledWhenHalfOfItIsUsed) {
  CreditWindow window = MakeWindow(kAcceptor, 10, /*spare=*/14);
  window.OnMessage(absl::UnixEpoch());
  EXPECT_TRUE(window.GrantDue());  // 2 of 16.
  EXPECT_EQ(window.Spend(), 14);
  for (int i = 0; i < 7; ++i) ConsumeAndRepost(window);
  EXPECT_FALSE(window.GrantDue());  // 9 of 16.
  ConsumeAndRepost(window);
  EXPECT_TRUE(window.GrantDue());
}

// How many frames for their grant alone an exchange of requests and responses takes whose ends have so many credits.
int PureGrants(uint32_t credits, int calls) {
  GrantBudget budgets[2];
  std::vector<CreditWindow> ends;
  for (GrantBudget& budget : budgets) {
    budget.OnReceivesAdded(credits);
    ends.emplace_back(&budget == budgets, credits, *budget.Admit(0, static_cast<uint16_t>(credits)));
  }
  int pure_grants = 0;
  const auto carry = [&](int from) {
    ASSERT_TRUE(ends[from].MaySpend());
    const uint16_t grant = ends[from].Spend();
    ASSERT_TRUE(ends[1 - from].OnSendArrived().ok());
    ASSERT_TRUE(ends[1 - from].OnGrant(grant).ok());
    ends[1 - from].OnMessage(absl::UnixEpoch());
    budgets[1 - from].OnReceivesReposted(1);
  };
  for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) {
    carry(0);
    carry(1);  // Before the end of the turn in which the request arrived.
    for (const int end : {1, 0}) {
      for (; ends[end].GrantDue(); ++pure_grants) carry(end);
    }
  }
  return pure_grants;
}

TEST(CreditWindows, AnExchangeWithThreeCreditsNeedsNoFrameForItsGrantAloneAndWithTwoOneForEachCall) {
  EXPECT_EQ(PureGrants(kCreditsPerConnectionMin, 100), 100);
  EXPECT_EQ(PureGrants(kCreditsPerConnectionMin + 1, 100), 0);
}

TEST_F(CreditWindowTest, AFrameBeyondTheGrantsIsAProtocolError) {
  CreditWindow window = MakeWindow(kAcceptor, 2);
  ASSERT_TRUE(window.OnSendArrived().ok());
  ASSERT_TRUE(window.OnSendArrived().ok());
  EXPECT_EQ(window.OnSendArrived().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CreditWindowTest, GrantsBeyondTheLimitAreAProtocolError) {
  CreditWindow window = MakeWindow(kAcceptor, 2);
  EXPECT_TRUE(window.OnGrant(kCreditsHeldMax - 2).ok());
  EXPECT_EQ(window.OnGrant(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(window.held(), kCreditsHeldMax);
}

TEST_F(CreditWindowTest, MoreReturnedThanGrantedIsAProtocolError) {
  CreditWindow window = MakeWindow(kAcceptor, 2);
  EXPECT_EQ(window.OnReturned(3).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CreditWindowTest, AnIdleSideKeepsItsMinimumWhenItGivesBack) {
  CreditWindow window = MakeWindow(kAcceptor, 10);
  ASSERT_EQ(window.Returnable(), 7u);
  window.GiveUp(7);
  window.Spend();
  EXPECT_EQ(window.held(), kCreditsPerConnectionMin);
}

TEST_F(CreditWindowTest, AReleasedShareGivesTheGrantsBack) {
  CreditWindow window = MakeWindow(kAcceptor, 2);
  EXPECT_EQ(budget_.outstanding(), 2u);
  window.ReleaseShare();
  EXPECT_EQ(budget_.outstanding(), 0u);
}

}  // namespace
}  // namespace verbena::protocol
