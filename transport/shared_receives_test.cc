#include "transport/shared_receives.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/limits.h"
#include "transport/queue_sizes.h"
#include "transport/verbs/completion_token.h"
#include "transport/verbs/device.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr uint32_t kAtFirst = 16;
constexpr uint32_t kMany = 100;  // Connections, for which two slabs more are needed.
constexpr uint32_t kGrown = kAtFirst + 2 * kSlabBuffers;

// A device on which frames land in the receives in the order of posting, its driver, and peers that send no more than
// they were granted.
class World {
 public:
  explicit World(uint32_t spare_max = 1024) : spare_max_(spare_max) {}
  ~World() { peers_.clear(); }  // Before the budget.

  // False: receives that were consumed must be posted again first.
  bool Come() {
    EXPECT_TRUE(shared_->ProvideFor(peers_.size() + 1).ok());
    absl::StatusOr<protocol::GrantShare> share = grants().Admit(0, protocol::kCreditsPerConnectionMin);
    if (share.ok()) {
      peers_.push_back(*std::move(share));
    } else {
      EXPECT_GT(grants().consumed(), 0u) << share.status();
    }
    return share.ok();
  }
  void ComeTo(size_t connections) {
    while (peers_.size() < connections && Come()) {
    }
  }
  void GoTo(size_t connections) { peers_.resize(connections); }

  // The device takes a posted receive; it is given back by Return.
  void Land(bool seen_by_share, size_t peer) {
    ASSERT_FALSE(fake_.srq_receives.empty()) << "receiver not ready";
    const auto token = verbs::CompletionToken::FromWorkRequestId(fake_.srq_receives.front());
    fake_.srq_receives.pop_front();
    supply().OnCompleted();
    read_ = *supply().data(token.index());
    if (!seen_by_share) return supply().RepostUnseen(token.index());
    ASSERT_TRUE(peers_[peer].OnSendArrived());
    peers_[peer].OnMessageArrived(now_ += absl::Milliseconds(1));
    held_.push_back(token.index());
  }
  void Return() {
    for (const uint32_t receive : std::exchange(held_, {})) supply().Repost(receive);
  }
  void GrantTo(size_t peer) { peers_[peer].Take(0xffff); }
  // Each peer sends a frame, and is granted what it may have.
  void SendEach() {
    for (size_t peer = 0; peer < peers_.size(); ++peer) {
      now_ -= absl::Milliseconds(1);  // All are active at the same time.
      Land(true, peer);
    }
    Return();
    supply().PostUsed();
    shared_->ProvideForActive();
    for (size_t peer = 0; peer < peers_.size(); ++peer) GrantTo(peer);
  }
  size_t PeersWithMoreThanTheMinimum() const {
    return static_cast<size_t>(std::count_if(peers_.begin(), peers_.end(), [](const protocol::GrantShare& share) {
      return share.granted() > protocol::kCreditsPerConnectionMin;
    }));
  }
  // The first peer sends so many frames.
  void Send(uint32_t frames) {
    for (uint32_t i = 0; i < frames && !testing::Test::HasFatalFailure(); ++i) {
      Land(true, 0);
      Return();
      supply().PostUsed();
      GrantTo(0);
    }
  }
  // The end of a period in which there were so many connections at most.
  void EndPeriod(size_t connections) {
    shared_->ProvideForFewer(connections);
    pool_.GiveBackFree(0);
  }
  absl::Status MakeAnew() {
    absl::Status status = shared_->MakeAnew();
    const size_t left = fake_.srq_receives.size() - supply().posted();  // With the queue that is gone.
    if (status.ok()) fake_.srq_receives.erase(fake_.srq_receives.begin(), fake_.srq_receives.begin() + left);
    return status;
  }

  verbs::FakeVerbs& fake() { return fake_; }
  const RegisteredPool& pool() const { return pool_; }
  const CounterBlock& counters() const { return counters_; }
  SharedReceives& shared() { return *shared_; }
  ReceiveSupply& supply() { return shared_->supply(); }
  protocol::GrantBudget& grants() { return supply().grants(); }
  std::vector<protocol::GrantShare>& peers() { return peers_; }

 private:
  const uint32_t spare_max_;
  verbs::FakeVerbs fake_;
  verbs::Device device_ = *verbs::Device::Borrow(fake_.api(), fake_.context());
  verbs::ProtectionDomain domain_ = *verbs::ProtectionDomain::Create(device_);
  RegisteredPool pool_{domain_, 512, 0};
  CounterBlock counters_;
  ReceiveSupply::UsedList used_;
  std::unique_ptr<SharedReceives> shared_ =
      *SharedReceives::Make(domain_, {.pool = &pool_, .counters = &counters_, .used = &used_},
                            {.at_first = kAtFirst, .max = 4096, .spare_max = spare_max_});
  std::vector<protocol::GrantShare> peers_;
  std::vector<uint32_t> held_;
  absl::Time now_ = absl::UnixEpoch();
  volatile std::byte read_{};
};

TEST(SharedReceives, WhenConnectionsHaveGoneTheirReceivesGoAsFramesArriveInThem) {
  World world;
  world.ComeTo(kMany);
  EXPECT_EQ(world.pool().size(), kGrown);
  world.GoTo(1);
  world.EndPeriod(1);
  EXPECT_EQ(world.pool().size(), kGrown) << "they are posted still";
  EXPECT_EQ(world.counters().receive_buffers.value(), kGrown);
  world.Send(kGrown);
  world.EndPeriod(1);
  EXPECT_EQ(world.pool().size(), kAtFirst);
  EXPECT_EQ(world.counters().receive_buffers.value(), kAtFirst);
  EXPECT_EQ(world.supply().posted(), kAtFirst);
  EXPECT_FALSE(world.shared().has_grown());
  world.ComeTo(kMany);
  EXPECT_EQ(world.pool().size(), kGrown);
}

TEST(SharedReceives, ConnectionsThatAreIdleHaveTheirMinimumAndThoseThatAreActiveOneMoreEach) {
  World world;
  world.ComeTo(kMany);
  world.shared().ProvideForActive();
  EXPECT_EQ(world.pool().size(), kGrown);
  world.SendEach();
  world.SendEach();
  EXPECT_EQ(world.PeersWithMoreThanTheMinimum(), kMany);
  EXPECT_EQ(world.pool().size(), kGrown + kSlabBuffers);
  world.SendEach();
  EXPECT_EQ(world.pool().size(), kGrown + kSlabBuffers) << "more are not of use";
}

TEST(SharedReceives, WithoutMemoryForMoreConnectionsGoOnWithTheirMinimum) {
  World world;
  world.ComeTo(kMany);
  world.fake().Fail("register_memory", ENOMEM);
  world.SendEach();
  world.SendEach();
  EXPECT_EQ(world.pool().size(), kGrown);
  world.fake().Fail("register_memory", 0, 0);
  world.SendEach();
  EXPECT_EQ(world.pool().size(), kGrown) << "it is asked for once in a period";
  world.EndPeriod(kMany);
  world.SendEach();
  EXPECT_GT(world.pool().size(), kGrown);
}

TEST(SharedReceives, WithoutMemoryAConnectionThatComesHasWhatWasAddedAndIsNotInUse) {
  World world;
  world.ComeTo(kMany);
  for (int i = 0; i < 3; ++i) world.SendEach();
  ASSERT_EQ(world.PeersWithMoreThanTheMinimum(), kMany);
  const uint64_t added = world.grants().spare() - kMany;  // And is nobody's.
  ASSERT_GT(added, kAtFirst);
  world.fake().Fail("register_memory", ENOMEM, 1000);
  while (world.shared().ProvideFor(world.peers().size() + 1).ok()) ASSERT_TRUE(world.Come());
  EXPECT_EQ(world.peers().size(), kMany + added / protocol::kCreditsPerConnectionMin);
}

TEST(SharedReceives, WhatWasAddedForActiveConnectionsLeavesWithThemThoughSomeStayActive) {
  World world;
  world.ComeTo(kMany);
  for (int i = 0; i < 3; ++i) world.SendEach();
  world.GoTo(20);
  for (int i = 0; i < 20; ++i) world.SendEach();
  world.EndPeriod(20);
  EXPECT_EQ(world.grants().spare(), 20 + kAtFirst / 4) << "one for each, and what is kept for active ones";
  world.GoTo(1);
  world.EndPeriod(1);
  world.Send(kGrown + kSlabBuffers);
  world.EndPeriod(1);
  EXPECT_EQ(world.pool().size(), kAtFirst);
}

TEST(SharedReceives, NoMoreIsAddedForActiveConnectionsThanThereIsRoomForBesideTheMinimums) {
  World world(/*spare_max=*/0);
  world.ComeTo(kMany);
  for (int i = 0; i < 3; ++i) world.SendEach();
  EXPECT_EQ(world.pool().size(), kGrown);
}

TEST(SharedReceives, TheDeviceIsAskedToSayOnceWhenFewAreLeft) {
  World world;
  EXPECT_TRUE(world.shared().WatchForLow());
  EXPECT_TRUE(world.shared().WatchForLow());
  EXPECT_EQ(world.fake().srq_limit, kAtFirst / 4);
  EXPECT_EQ(world.fake().CountOf("modify_srq"), 1);
  world.shared().OnLow(nullptr);  // Another's.
  EXPECT_TRUE(world.shared().WatchForLow());
  EXPECT_EQ(world.fake().CountOf("modify_srq"), 1);
  world.shared().OnLow(world.shared().queue().get());
  EXPECT_TRUE(world.shared().WatchForLow());
  EXPECT_EQ(world.fake().CountOf("modify_srq"), 2);
}

TEST(SharedReceives, ADeviceThatRefusesIsNotAskedAgain) {
  World world;
  world.fake().Fail("modify_srq", EOPNOTSUPP);
  EXPECT_FALSE(world.shared().WatchForLow());
  EXPECT_FALSE(world.shared().WatchForLow());
  EXPECT_EQ(world.fake().CountOf("modify_srq"), 1);
}

TEST(SharedReceives, WhereFewAreLeftNobodyNeedBeAsked) {
  World world;
  world.ComeTo(1);
  for (uint32_t i = 0; i < kAtFirst - kAtFirst / 4; ++i) world.Land(/*seen_by_share=*/false, 0);
  EXPECT_FALSE(world.shared().WatchForLow());
  EXPECT_EQ(world.fake().CountOf("modify_srq"), 0);
}

TEST(SharedReceives, AsManyStayAsTheConnectionsOfThePeriodNeeded) {
  World world;
  world.ComeTo(kMany);
  world.GoTo(1);
  world.EndPeriod(kMany);
  world.Send(2 * kGrown);
  world.EndPeriod(kMany);
  EXPECT_EQ(world.pool().size(), kGrown);
  world.EndPeriod(kMany / 2);
  world.Send(kGrown);
  world.EndPeriod(kMany / 2);
  EXPECT_EQ(world.pool().size(), kGrown - kSlabBuffers);
}

TEST(SharedReceives, ConnectionsThatComeAgainHaveWhatWasToLeave) {
  World world;
  world.ComeTo(kMany);
  world.GoTo(1);
  world.EndPeriod(1);
  world.Send(kSlabBuffers / 2);  // Some have come back.
  const int registrations = world.fake().CountOf("register_memory");
  world.ComeTo(kMany);
  EXPECT_EQ(world.fake().CountOf("register_memory"), registrations);
  EXPECT_EQ(world.supply().posted(), kGrown);
  EXPECT_EQ(world.counters().receive_buffers.value(), kGrown);
  EXPECT_EQ(world.grants().receives() + world.supply().kept(), kGrown);
}

TEST(SharedReceives, WhenNobodyIsThereTheQueueIsMadeAnewAsAtFirst) {
  World world;
  world.ComeTo(kMany);
  world.Send(kMany);
  world.GoTo(0);
  world.EndPeriod(0);
  ASSERT_TRUE(world.MakeAnew().ok());
  EXPECT_EQ(world.pool().size(), kAtFirst);
  EXPECT_EQ(world.pool().free(), 0u);
  EXPECT_EQ(world.counters().receive_buffers.value(), kAtFirst);
  EXPECT_EQ(world.counters().receives_posted.value(), kAtFirst);
  EXPECT_EQ(world.fake().srq_receives.size(), kAtFirst);
  world.ComeTo(kMany);
  world.Send(kMany);
  EXPECT_EQ(world.pool().size(), kGrown);
}

TEST(SharedReceives, AQueueThatCannotBeMadeAnewServesOn) {
  World world;
  world.ComeTo(kMany);
  world.GoTo(0);
  world.fake().Fail("create_srq", ENOMEM);
  EXPECT_FALSE(world.MakeAnew().ok());
  EXPECT_EQ(world.pool().size(), kGrown);
  world.ComeTo(kMany);
  world.Send(kMany);
}

TEST(SharedReceives, AnAdditionThatTheDeviceRefusesOnceTurnsNobodyAway) {
  World world;
  world.ComeTo(kAtFirst / 2 / protocol::kCreditsPerConnectionMin);
  world.Send(kAtFirst);  // Until the first is granted all that is spare.
  ASSERT_EQ(world.grants().outstanding(), kAtFirst);
  ASSERT_EQ(world.pool().size(), kAtFirst);
  world.fake().Fail("post_srq_recv", ENOMEM);
  EXPECT_TRUE(world.Come());
  EXPECT_GT(world.pool().size(), kAtFirst);
  EXPECT_EQ(world.supply().posted(), world.pool().size());
}

// One step of many, any of them.
void Step(World& world, std::minstd_rand& random) {
  const auto number = [&random](size_t below) { return static_cast<size_t>(random() % below); };
  std::vector<protocol::GrantShare>& peers = world.peers();
  switch (number(8)) {
    case 0:
      return world.ComeTo(peers.size() + number(kMany));
    case 1: {  // Some go; what the last of them still sends nobody sees.
      if (peers.empty()) return;
      const uint32_t granted = peers.back().granted();
      for (size_t unseen = number(granted + 1); unseen > 0; --unseen) world.Land(false, 0);
      return world.GoTo(peers.size() - 1 - number(peers.size()));
    }
    case 2:
      return world.EndPeriod(peers.size() + number(4));
    case 3:
      world.Return();
      if (peers.empty()) world.MakeAnew().IgnoreError();
      return;
    case 4:
      if (number(4) == 0) world.fake().Fail("post_srq_recv", ENOMEM, static_cast<int>(1 + number(3)));
      world.supply().PostUsed();
      world.shared().ProvideForActive();
      return;
    case 5:
      return world.Return();
    default:
      for (size_t frames = number(50); frames > 0 && !peers.empty(); --frames) {
        const size_t peer = number(peers.size());
        if (peers[peer].granted() > 0) world.Land(true, peer);
        world.GrantTo(peer);
      }
  }
}

TEST(SharedReceives, WhoeverComesAndGoesEachGrantHasAReceive) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    World world;
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      Step(world, random);
      ASSERT_EQ(world.supply().posted(), world.fake().srq_receives.size());
      ASSERT_GE(world.supply().posted(), world.grants().outstanding());
      ASSERT_GE(world.counters().receive_buffers.value(), world.supply().posted());
    }
    if (testing::Test::HasFailure()) return;
    world.Return();
    world.fake().Fail("post_srq_recv", 0, 0);  // It refuses nothing any more.
    world.supply().PostUsed();
    EXPECT_EQ(world.grants().consumed(), 0u);
    EXPECT_EQ(world.counters().receive_buffers.value(), world.supply().posted());
    world.GoTo(0);
    world.ComeTo(1);
    world.EndPeriod(1);
    world.Send(world.pool().size());
    world.EndPeriod(1);
    EXPECT_EQ(world.pool().size(), kAtFirst);
  }
}

}  // namespace
}  // namespace verbena::transport
