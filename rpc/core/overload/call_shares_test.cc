#include "rpc/core/overload/call_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

constexpr ClientId kAda{1};
constexpr ClientId kBob{2};
constexpr int kSeeds = 50;

// As many as it may have.
int TakeAll(CallShares::Share& share) {
  int taken = 0;
  for (; share.MayTake(); ++taken) share.Take();
  return taken;
}

TEST(CallShares, ClientThatIsAloneMayHaveEveryCall) {
  CallShares shares(80);
  CallShares::Share ada = shares.Join(kAda);
  EXPECT_EQ(TakeAll(ada), 80);
  EXPECT_EQ(shares.calls(), 80u);
}

TEST(CallShares, AnEighthIsLeftForWhoHasLess) {
  CallShares shares(80);
  CallShares::Share ada = shares.Join(kAda);
  CallShares::Share bob = shares.Join(kBob);
  EXPECT_EQ(TakeAll(ada), 70);
  EXPECT_EQ(TakeAll(bob), 10);
}

TEST(CallShares, WhatTheGreedyGivesBackIsForTheOtherUntilBothHaveTheSame) {
  CallShares shares(80);
  CallShares::Share ada = shares.Join(kAda);
  CallShares::Share bob = shares.Join(kBob);
  TakeAll(ada);
  int of_bob = TakeAll(bob);
  for (int i = 0; i < 30; ++i) {
    ada.GiveBack();
    EXPECT_FALSE(ada.MayTake());
    of_bob += TakeAll(bob);
  }
  EXPECT_EQ(of_bob, 40);
  bob.GiveBack();
  EXPECT_FALSE(ada.MayTake());  // It has its fair share.
}

TEST(CallShares, WhoHadEverythingWhenAnotherCameGetsNothingBackBeforeHim) {
  CallShares shares(80);
  CallShares::Share ada = shares.Join(kAda);
  TakeAll(ada);
  CallShares::Share bob = shares.Join(kBob);
  EXPECT_FALSE(bob.MayTake());
  ada.GiveBack();
  EXPECT_FALSE(ada.MayTake());
  EXPECT_TRUE(bob.MayTake());
}

TEST(CallShares, ConnectionsOfOneClientHaveOneShare) {
  CallShares shares(80);
  CallShares::Share one = shares.Join(kAda);
  CallShares::Share two = shares.Join(kAda);
  CallShares::Share bob = shares.Join(kBob);
  EXPECT_EQ(shares.clients(), 2u);
  EXPECT_EQ(TakeAll(one), 70);
  EXPECT_FALSE(two.MayTake());
  EXPECT_TRUE(bob.MayTake());
}

TEST(CallShares, ConnectionThatEndsGivesEverythingBackAndTheLastForgetsItsClient) {
  CallShares shares(80);
  CallShares::Share bob = shares.Join(kBob);
  {
    CallShares::Share ada = shares.Join(kAda);
    TakeAll(ada);
    EXPECT_EQ(shares.clients(), 2u);
  }
  EXPECT_EQ(shares.clients(), 1u);
  EXPECT_EQ(shares.calls(), 0u);
  EXPECT_EQ(TakeAll(bob), 80);
}

TEST(CallShares, AmongMoreClientsThanCallsEachHasAClaimToOne) {
  CallShares shares(8);
  std::vector<std::unique_ptr<CallShares::Share>> clients;
  for (uint64_t id = 0; id < 10; ++id) clients.emplace_back(new CallShares::Share(shares.Join(ClientId{id})));
  EXPECT_EQ(TakeAll(*clients[0]), 7);
  EXPECT_EQ(TakeAll(*clients[1]), 1);
}

TEST(CallShares, FewCallsAreSharedWithoutAReserve) {
  CallShares shares(3);
  CallShares::Share ada = shares.Join(kAda);
  CallShares::Share bob = shares.Join(kBob);
  EXPECT_EQ(TakeAll(ada), 3);
  EXPECT_FALSE(bob.MayTake());
}

// Clients of all appetites, whose calls take their time, by seeds.
class SimulatedClient {
 public:
  SimulatedClient(CallShares& shares, ClientId id, int wanted) : share_(shares.Join(id)), wanted_(wanted) {}

  void Step(uint64_t now, SplitMix64& random) {
    while (!ends_.empty() && ends_.front() <= now) {
      ends_.pop_front();
      share_.GiveBack();
    }
    refused_ = 0;
    while (in_flight() + refused_ < wanted_) {
      if (!share_.MayTake()) {
        ++refused_;
        continue;
      }
      share_.Take();
      const uint64_t end = now + 1 + random.Next() % 20;
      ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
    }
  }
  int in_flight() const { return static_cast<int>(ends_.size()); }
  int wanted() const { return wanted_; }

 private:
  CallShares::Share share_;
  const int wanted_;
  int refused_ = 0;
  std::deque<uint64_t> ends_;
};

TEST(CallShares, InTheLongRunNobodyWhoWantsLessThanAFairShareGoesWithout) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SplitMix64 random(seed);
    const int calls_max = 64 + static_cast<int>(random.Next() % 200);
    CallShares shares(static_cast<uint32_t>(calls_max));
    const int count = 2 + static_cast<int>(random.Next() % 8);
    std::vector<std::unique_ptr<SimulatedClient>> clients;
    for (int i = 0; i < count; ++i) {
      const int wanted = i == 0 ? 10 * calls_max : static_cast<int>(random.Next() % calls_max);
      clients.push_back(std::make_unique<SimulatedClient>(shares, ClientId{static_cast<uint64_t>(i)}, wanted));
    }
    for (uint64_t now = 0; now < 300; ++now) {
      for (const auto& client : clients) client->Step(now, random);  // The greedy one is always the first to ask.
      EXPECT_LE(shares.calls(), static_cast<uint64_t>(calls_max));
    }
    for (const auto& client : clients) EXPECT_GE(client->in_flight(), std::min(client->wanted(), calls_max / count));
  }
}

}  // namespace
}  // namespace verbena::rpc
