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

TEST_F(CreditWindowTest, AWideWindowIsRefilledWhenMoreThanHalfOfItIsUsed) {
  CreditWindow window = MakeWindow(kAcceptor, 10, /*spare=*/14);
  for (int i = 0; i < 14; ++i) {
    ConsumeAndRepost(window);
    window.OnMessage(absl::UnixEpoch());
    ASSERT_TRUE(window.OnGrant(1).ok());
    window.SpendOnMessage();
  }
  ASSERT_EQ(window.granted(), 16u);
  for (int i = 0; i < 8; ++i) ConsumeAndRepost(window);
  EXPECT_FALSE(window.GrantDue());
  ConsumeAndRepost(window);
  EXPECT_TRUE(window.GrantDue());
}

// Two ends that have so many credits exchange requests and responses, from the start of one to that of the next so
// long. Returns how many frames for their grant alone that takes.
int PureGrants(uint32_t credits, int calls, absl::Duration apart) {
  GrantBudget budgets[2];
  std::vector<CreditWindow> ends;
  for (GrantBudget& budget : budgets) {
    budget.OnReceivesAdded(credits);
    ends.emplace_back(&budget == budgets, kCreditsPerConnectionMin, *budget.Admit(0, kCreditsPerConnectionMin));
  }
  absl::Time now = absl::UnixEpoch();
  const auto arrive = [&](int at, uint16_t grant) {
    ASSERT_TRUE(ends[at].OnSendArrived().ok());
    ASSERT_TRUE(ends[at].OnGrant(grant).ok());
    budgets[at].OnReceivesReposted(1);
  };
  const auto carry_message = [&](int from) {
    ASSERT_TRUE(ends[from].MaySpend());
    arrive(1 - from, ends[from].SpendOnMessage());
    ends[1 - from].OnMessage(now);
  };
  int pure_grants = 0;
  for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) {
    for (GrantBudget& budget : budgets) EXPECT_EQ(budget.NextWakeup(now), std::nullopt);
    carry_message(0);
    carry_message(1);  // Before the end of the turn in which the request arrived.
    for (const int end : {1, 0}) {
      for (; ends[end].GrantDue(); ++pure_grants) arrive(1 - end, ends[end].Spend());
    }
    now += apart;
  }
  return pure_grants;
}

TEST(CreditWindows, AnExchangeWithThreeCreditsNeedsNoFrameForItsGrantAloneAndWithTwoOneForEachCall) {
  EXPECT_EQ(PureGrants(kCreditsPerConnectionMin, 100, absl::ZeroDuration()), 100);
  EXPECT_EQ(PureGrants(kCreditsPerConnectionMin + 1, 100, absl::ZeroDuration()), 0);
}

TEST(CreditWindows, AnExchangeWithSilencesAndAThirdCreditNeedsNoFrameForItsGrantAlone) {
  EXPECT_EQ(PureGrants(kCreditsPerConnectionMin + 1, 100, absl::Milliseconds(50)), 0);
  EXPECT_EQ(PureGrants(64, 100, absl::Milliseconds(50)), 0);
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
