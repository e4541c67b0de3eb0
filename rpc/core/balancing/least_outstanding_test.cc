#include "rpc/core/balancing/least_outstanding.h"

#include <gtest/gtest.h>

#include <array>

#include "rpc/core/balancing/test_servers.h"
#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

constexpr int kPicks = 30000;

// How many picks of kPicks go to each server; calls stay in flight if `keep`.
template <size_t n>
std::array<int, n> Shares(ServerList& list, bool keep) {
  LeastOutstandingOfTwo policy;
  policy.OnServersChanged(list);
  SplitMix64 random(1);
  std::array<int, n> shares{};
  for (int i = 0; i < kPicks; ++i) {
    const size_t picked = policy.Pick({.random = random.Next()}, list).value();
    ++shares[picked];
    if (keep) ++At(list, picked).calls_in_flight;
  }
  return shares;
}

TEST(LeastOutstandingOfTwo, LessBusyOfTwoIsTaken) {
  ServerList list = ReadyList(Addresses(2));
  At(list, 0).calls_in_flight = 1;
  EXPECT_EQ(Shares<2>(list, false)[1], kPicks);
}

TEST(LeastOutstandingOfTwo, BusiestOfManyIsNeverTaken) {
  ServerList list = ReadyList(Addresses(5));
  At(list, 3).calls_in_flight = 2;
  EXPECT_EQ(Shares<5>(list, false)[3], 0);
}

TEST(LeastOutstandingOfTwo, IdleServersShareByWeight) {
  ServerList list = ReadyList(Weighted({1, 2, 3}));
  const auto shares = Shares<3>(list, false);
  EXPECT_NEAR(shares[0], kPicks / 6, 300);
  EXPECT_NEAR(shares[1], kPicks / 3, 300);
  EXPECT_NEAR(shares[2], kPicks / 2, 300);
}

TEST(LeastOutstandingOfTwo, CallsInFlightFollowWeights) {
  ServerList list = ReadyList(Weighted({1, 2, 3}));
  const auto shares = Shares<3>(list, true);
  EXPECT_NEAR(shares[0], kPicks / 6, 5);
  EXPECT_NEAR(shares[1], kPicks / 3, 5);
  EXPECT_NEAR(shares[2], kPicks / 2, 5);
}

TEST(LeastOutstandingOfTwo, FullestServerIsCloseToTheMean) {
  ServerList list = ReadyList(Addresses(100));
  const auto shares = Shares<100>(list, true);
  for (const int share : shares)
    EXPECT_NEAR(share, kPicks / 100, 5);  // By lot alone it would be 17 each way, and more.
}

TEST(LeastOutstandingOfTwo, ReportedLoadTakesFromAServersShare) {
  ServerList list = ReadyList(Addresses(2));
  At(list, 0).load = 0.5;
  const auto shares = Shares<2>(list, true);
  EXPECT_NEAR(shares[0], kPicks / 3, 5);
}

TEST(LeastOutstandingOfTwo, FullServerKeepsATwentieth) {
  ServerList list = ReadyList(Addresses(2));
  At(list, 0).load = 1;
  const auto shares = Shares<2>(list, true);
  EXPECT_NEAR(shares[0], kPicks / 21, 5);
}

TEST(LeastOutstandingOfTwo, SingleAndNoServer) {
  ServerList list = ReadyList(Addresses(1));
  EXPECT_EQ(Shares<1>(list, false)[0], kPicks);
  LeastOutstandingOfTwo policy;
  policy.OnServersChanged(ServerList());
  EXPECT_EQ(policy.Pick({}, ServerList()), std::nullopt);
}

}  // namespace
}  // namespace verbena::rpc
