// What the choice of a server costs a call in allocations: none.

#include <gtest/gtest.h>

#include "rpc/core/balancing/balancer.h"
#include "rpc/core/balancing/test_servers.h"
#include "rpc/core/split_mix.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

class Allocation : public ::testing::TestWithParam<PolicyKind> {
 protected:
  Allocation() : balancer_(Balancer::Create({.policy = GetParam()}).value()) { balancer_->OnList(Weighted({1, 2, 3})); }
  ServerId Id(size_t position) const { return balancer_->servers().servers()[position].id; }

  std::unique_ptr<Balancer> balancer_;
};

INSTANTIATE_TEST_SUITE_P(Policies, Allocation,
                         ::testing::Values(PolicyKind::kPickFirst, PolicyKind::kRoundRobin,
                                           PolicyKind::kLeastOutstandingOfTwo, PolicyKind::kConsistentHashing),
                         [](const auto& tested) { return std::string(ToString(tested.param)); });

TEST_P(Allocation, CallTakesNone) {
  for (size_t i = 0; i < 3; ++i) balancer_->OnReady(Id(i));
  int picked = 0;
  const auto run_calls = [&] {
    for (uint64_t i = 0; i < 100; ++i) {
      const PickResult pick = balancer_->Pick({.random = MixBits(i), .key_hash = i});
      picked += pick.kind == PickResult::Kind::kServer;
      balancer_->OnCallStarted(pick.server);
      balancer_->OnCallEnded(pick.server, absl::StatusCode::kOk, absl::UnixEpoch());
    }
  };
  EXPECT_EQ(testing::AllocationsOf(run_calls), 0u);
  EXPECT_EQ(picked, 100);
}

TEST_P(Allocation, FailureIsPutIntoWordsOnce) {
  for (size_t i = 0; i < 3; ++i) balancer_->OnFailed(Id(i), absl::UnavailableError("refused"));
  EXPECT_EQ(balancer_->Pick({}).kind, PickResult::Kind::kFailed);
  EXPECT_EQ(testing::AllocationsOf([&] { balancer_->Pick({}); }), 0u);
}

}  // namespace
}  // namespace verbena::rpc
