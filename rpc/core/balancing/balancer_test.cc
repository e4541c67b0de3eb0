#include "rpc/core/balancing/balancer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

class BalancerTest : public testing::Test {
 protected:
  void Make(const BalancerOptions& options, size_t servers) {
    balancer_ = Balancer::Create(options).value();
    if (servers > 0) balancer_->OnList(Addresses(servers));
  }

  ServerId Id(size_t position) const { return balancer_->servers().servers()[position].id; }
  PickResult Pick() { return balancer_->Pick({.random = 1}); }
  bool Picks(size_t position) { return Pick().kind == PickResult::Kind::kServer && Pick().server == Id(position); }
  void EndCalls(size_t position, absl::StatusCode code, int times) {
    for (int i = 0; i < times; ++i) {
      balancer_->OnCallStarted(Id(position));
      balancer_->OnCallEnded(Id(position), code, kStart);
    }
  }

  std::unique_ptr<Balancer> balancer_;
};

TEST_F(BalancerTest, CallsWaitForTheFirstList) {
  Make({}, 0);
  EXPECT_EQ(Pick().kind, PickResult::Kind::kWait);
}

TEST_F(BalancerTest, CallsFailIfTheFirstListCannotBeHad) {
  Make({}, 0);
  balancer_->OnList(absl::NotFoundError("no such name"));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kFailed);
  EXPECT_EQ(Pick().status.message(), "no server is known: NOT_FOUND: no such name");
}

TEST_F(BalancerTest, CallsWaitWhileAServerIsUntried) {
  Make({.policy = PolicyKind::kRoundRobin}, 2);
  balancer_->OnFailed(Id(0), absl::UnavailableError("refused"));
  balancer_->OnConnecting(Id(1));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kWait);
}

TEST_F(BalancerTest, CallsFailWhenAllHaveFailedAlsoWhileOneConnectsAgain) {
  Make({.policy = PolicyKind::kRoundRobin}, 2);
  balancer_->OnFailed(Id(0), absl::UnavailableError("refused"));
  balancer_->OnFailed(Id(1), absl::UnavailableError("no route"));
  balancer_->OnConnecting(Id(1));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kFailed);
  EXPECT_EQ(Pick().status.message(),
            "none of 2 servers can be called: s0 (UNAVAILABLE: refused); "
            "s1 (connecting again after UNAVAILABLE: no route)");
}

TEST_F(BalancerTest, FailureNamesTheNewestReason) {
  Make({}, 1);
  balancer_->OnFailed(Id(0), absl::UnavailableError("refused"));
  Pick();
  balancer_->OnFailed(Id(0), absl::UnavailableError("no route"));
  EXPECT_EQ(Pick().status.message(), "the only server cannot be called: s0 (UNAVAILABLE: no route)");
}

TEST_F(BalancerTest, PickFirstTriesThemOneByOneThenAll) {
  Make({}, 2);
  EXPECT_TRUE(balancer_->Wants(Id(0)));
  EXPECT_FALSE(balancer_->Wants(Id(1)));
  balancer_->OnFailed(Id(0), absl::UnavailableError("refused"));
  balancer_->OnIdle(Id(0));
  EXPECT_FALSE(balancer_->Wants(Id(0)));
  EXPECT_TRUE(balancer_->Wants(Id(1)));
  balancer_->OnFailed(Id(1), absl::UnavailableError("refused"));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kFailed);
  EXPECT_TRUE(balancer_->Wants(Id(0)) && balancer_->Wants(Id(1)));
}

TEST_F(BalancerTest, PickFirstWaitsForTheOthersWhenItsChoiceIsLost) {
  Make({}, 2);
  balancer_->OnFailed(Id(0), absl::UnavailableError("refused"));
  balancer_->OnReady(Id(1));
  balancer_->OnFailed(Id(1), absl::UnavailableError("lost"));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kWait);
  EXPECT_TRUE(balancer_->Wants(Id(0)));
}

TEST_F(BalancerTest, ServerThatDoesNotServeIsNotPickedUntilItDoes) {
  Make({.policy = PolicyKind::kRoundRobin}, 2);
  balancer_->OnReady(Id(0));
  balancer_->OnReady(Id(1), /*serving=*/false);
  EXPECT_TRUE(Picks(0) && Picks(0));
  balancer_->OnHealth(Id(0), false);
  EXPECT_EQ(Pick().kind, PickResult::Kind::kFailed);
  balancer_->OnHealth(Id(1), true);
  EXPECT_TRUE(Picks(1));
}

TEST_F(BalancerTest, BrokenServerIsEjectedAndLetInAgain) {
  Make({.policy = PolicyKind::kRoundRobin}, 2);
  balancer_->OnReady(Id(0));
  balancer_->OnReady(Id(1));
  EndCalls(0, absl::StatusCode::kNotFound, 50);
  EXPECT_EQ(balancer_->outliers().ejected(), 0u);
  EndCalls(0, absl::StatusCode::kUnavailable, 5);
  EXPECT_TRUE(Picks(1) && Picks(1));
  balancer_->OnDeadline(kStart + absl::Seconds(30));
  const ServerId one = Pick().server;
  EXPECT_NE(Pick().server, one);
}

TEST_F(BalancerTest, EjectedServerIsBetterThanNone) {
  Make({.policy = PolicyKind::kRoundRobin}, 2);
  balancer_->OnReady(Id(0));
  balancer_->OnReady(Id(1));
  EndCalls(0, absl::StatusCode::kUnavailable, 5);
  balancer_->OnFailed(Id(1), absl::UnavailableError("lost"));
  EXPECT_TRUE(Picks(0));
}

TEST_F(BalancerTest, CallsInFlightAreCountedAndEndOnce) {
  Make({.policy = PolicyKind::kLeastOutstandingOfTwo}, 1);
  balancer_->OnCallStarted(Id(0));
  EXPECT_EQ(balancer_->servers().servers()[0].calls_in_flight, 1u);
  balancer_->OnCallEnded(Id(0), absl::StatusCode::kOk, kStart);
  balancer_->OnCallEnded(Id(0), absl::StatusCode::kOk, kStart);
  EXPECT_EQ(balancer_->servers().servers()[0].calls_in_flight, 0u);
}

TEST_F(BalancerTest, WordsAboutAServerThatHasLeftAreIgnored) {
  Make({}, 1);
  const ServerId gone = Id(0);
  balancer_->OnCallStarted(gone);
  balancer_->OnList(std::vector<ServerAddress>{{"other"}});
  balancer_->OnReady(gone);
  balancer_->OnCallEnded(gone, absl::StatusCode::kOk, kStart);
  EXPECT_FALSE(balancer_->Wants(gone));
  EXPECT_EQ(Pick().kind, PickResult::Kind::kWait);
}

TEST_F(BalancerTest, LoadIsCutToItsBounds) {
  Make({}, 1);
  balancer_->OnLoad(Id(0), 7);
  EXPECT_EQ(balancer_->servers().servers()[0].load, 1);
  balancer_->OnLoad(Id(0), std::nan(""));
  EXPECT_EQ(balancer_->servers().servers()[0].load, 1);
}

TEST_F(BalancerTest, LoadIsForgottenByAServerThatComesBackAndNotByOneThatIsReadyAnyway) {
  Make({}, 1);
  balancer_->OnReady(Id(0));
  balancer_->OnLoad(Id(0), 1);
  balancer_->OnReady(Id(0));
  EXPECT_EQ(balancer_->servers().servers()[0].load, 1);
  balancer_->OnFailed(Id(0), absl::UnavailableError("lost"));
  balancer_->OnReady(Id(0));
  EXPECT_EQ(balancer_->servers().servers()[0].load, 0);
}

TEST_F(BalancerTest, OnlyTheSubsetIsKnown) {
  Make({.policy = PolicyKind::kRoundRobin, .seed = 3, .subset_size = 4}, 20);
  EXPECT_EQ(balancer_->servers().servers().size(), 4u);
}

TEST_F(BalancerTest, VersionMovesWithStatesAndNotWithCalls) {
  Make({}, 1);
  const uint64_t before = balancer_->version();
  EndCalls(0, absl::StatusCode::kOk, 3);
  Pick();
  EXPECT_EQ(balancer_->version(), before);
  balancer_->OnReady(Id(0));
  EXPECT_GT(balancer_->version(), before);
}

TEST_F(BalancerTest, BadOptionsAreNamed) {
  EXPECT_EQ(Balancer::Create({.maglev_table_size = 65536}).status().message(),
            "BalancerOptions: maglev_table_size is 65536; it must be a prime from 3 to 5000011");
  EXPECT_EQ(Balancer::Create({.policy = PolicyKind::kConsistentHashing, .subset_size = 4}).status().message(),
            "BalancerOptions: subset_size is 4; with consistent_hashing it must be 0, for clients with other subsets "
            "send a key elsewhere");
  EXPECT_EQ(Balancer::Create({.policy = static_cast<PolicyKind>(9)}).status().message(),
            "BalancerOptions: policy is 9, which is no PolicyKind");
  EXPECT_FALSE(Balancer::Create({.outlier = {.max_ejection_percent = 200}}).ok());
}

}  // namespace
}  // namespace verbena::rpc
