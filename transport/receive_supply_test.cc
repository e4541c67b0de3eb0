#include "transport/receive_supply.h"

#include <cerrno>

#include "gtest/gtest.h"
#include "transport/verbs/device.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr uint32_t kReceives = 16;

class ReceiveSupplyTest : public testing::Test {
 protected:
  protocol::GrantBudget& grants() { return supply_.grants(); }
  void AddRefused() {  // kReceives, which the device takes at neither try.
    fake_.Fail("post_srq_recv", ENOMEM, 2);
    ASSERT_TRUE(supply_.Add(kReceives).ok());
  }

  verbs::FakeVerbs fake_;
  verbs::Device device_ = *verbs::Device::Borrow(fake_.api(), fake_.context());
  verbs::ProtectionDomain domain_ = *verbs::ProtectionDomain::Create(device_);
  RegisteredPool pool_{domain_, 512, 0};
  CounterBlock counters_;
  ReceiveSupply::UsedList used_;
  verbs::SharedReceiveQueue queue_ = *verbs::SharedReceiveQueue::Create(domain_, 2 * kReceives, 1);
  ReceiveSupply supply_{{.pool = &pool_, .counters = &counters_, .used = &used_}, &queue_, 2 * kReceives};
};

TEST_F(ReceiveSupplyTest, WhatIsAddedIsPostedAndInTheBudgetAsFarAsItWasPutThere) {
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  supply_.PutInBudget(kReceives / 2);
  EXPECT_EQ(supply_.posted(), kReceives);
  EXPECT_EQ(supply_.kept(), kReceives / 2);
  EXPECT_EQ(grants().posted(), kReceives / 2);
  EXPECT_TRUE(used_.empty());
}

TEST_F(ReceiveSupplyTest, WhatTheDeviceRefusesIsNotGrantedUntilItIsPosted) {
  AddRefused();
  supply_.PutInBudget(kReceives);
  EXPECT_EQ(grants().receives(), kReceives);
  EXPECT_EQ(grants().posted(), 0u);
  ASSERT_EQ(used_.size(), 1u) << "it asks to be posted again";
  EXPECT_TRUE(supply_.PostUsed());
  EXPECT_EQ(grants().posted(), kReceives);
  EXPECT_TRUE(used_.empty());
}

TEST_F(ReceiveSupplyTest, WhatTheDeviceRefusesOnceIsPostedAtOnce) {
  fake_.Fail("post_srq_recv", ENOMEM);
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  supply_.PutInBudget(kReceives);
  EXPECT_EQ(grants().posted(), kReceives);
}

TEST_F(ReceiveSupplyTest, PostedOnesGoIntoTheBudgetBeforeThoseThatWereRefused) {
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  AddRefused();
  supply_.PutInBudget(kReceives);
  EXPECT_EQ(grants().posted(), kReceives);
  supply_.PutInBudget(1);
  EXPECT_EQ(grants().posted(), kReceives);
  EXPECT_TRUE(supply_.PostUsed());
  EXPECT_EQ(grants().posted(), kReceives + 1);
  EXPECT_EQ(supply_.posted(), 2 * kReceives);
}

TEST_F(ReceiveSupplyTest, AReceiveThatLeavesIsNotPostedAgainAndTheBudgetHasAnotherInItsPlace) {
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  supply_.PutInBudget(kReceives);
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  ASSERT_TRUE(supply_.LetSlabLeave());
  EXPECT_FALSE(supply_.LetSlabLeave()) << "the first stays";
  supply_.OnCompleted();
  supply_.RepostUnseen(kReceives);
  EXPECT_EQ(grants().posted(), kReceives - 1);
  EXPECT_TRUE(supply_.PostUsed()) << "there is something to grant";
  EXPECT_EQ(grants().posted(), kReceives);
  EXPECT_EQ(supply_.posted(), 2 * kReceives - 1);
  EXPECT_EQ(counters_.receive_buffers.value(), 2 * kReceives - 1);
}

TEST_F(ReceiveSupplyTest, ASlabIsGivenBackWhenAllOfItHasComeBack) {
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  ASSERT_TRUE(supply_.LetSlabLeave());
  supply_.PutInBudget(kReceives);
  for (uint32_t receive = kReceives; receive < 2 * kReceives; ++receive) {
    supply_.GiveBackLeft();
    EXPECT_EQ(pool_.free(), 0u);
    supply_.OnCompleted();
    supply_.RepostUnseen(receive);
    supply_.PostUsed();
  }
  supply_.GiveBackLeft();
  EXPECT_EQ(pool_.free(), kReceives);
  EXPECT_FALSE(supply_.has_grown());
}

TEST_F(ReceiveSupplyTest, ReceivesThatTheDeviceRefusedDoNotLeave) {
  ASSERT_TRUE(supply_.Add(kReceives).ok());
  supply_.PutInBudget(kReceives);
  AddRefused();
  EXPECT_FALSE(supply_.LetSlabLeave());
  EXPECT_TRUE(supply_.PostUsed());
  EXPECT_TRUE(supply_.LetSlabLeave());
}

TEST_F(ReceiveSupplyTest, PastTheQueuesRoomNothingIsAdded) {
  EXPECT_EQ(supply_.Add(2 * kReceives + 1).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(supply_.kept(), 0u);
}

}  // namespace
}  // namespace verbena::transport
