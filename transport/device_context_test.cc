#include "transport/device_context.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/payload_arena.h"
#include "transport/testing/device_context_fixture.h"
#include "transport/verbs/shared_receive_queue.h"

namespace verbena::transport {
namespace {

using soft::RemovableDevice;
using ::testing::ElementsAre;

constexpr size_t kBytes = 10000;

TEST_F(DeviceContextTest, OneDeviceHasOne) { EXPECT_EQ(Get(), device_); }

TEST_F(DeviceContextTest, CompletionVectorsAreTakenInTurn) {
  const int vectors = device_->device().completion_vectors();
  ASSERT_GT(vectors, 1);
  const int first = device_->TakeCompletionVector();
  for (int i = 1; i < vectors; ++i) EXPECT_EQ(device_->TakeCompletionVector(), (first + i) % vectors);
  EXPECT_EQ(device_->TakeCompletionVector(), first);
}

TEST_F(DeviceContextTest, ItsRemovalIsToldToItsUsersOnce) {
  int told = 0;
  ASSERT_EQ(device_->AddUser(&told, {[&] { ++told; }, nullptr}), absl::OkStatus());
  const int gone = 0;
  ASSERT_EQ(device_->AddUser(&gone, {[] { ADD_FAILURE() << "is no user any more"; }, nullptr}), absl::OkStatus());
  device_->RemoveUser(&gone);
  Remove();
  Remove();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(device_->AddUser(&gone, {[] {}, nullptr}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceContextTest, UsersAreToldWhichReceivesRunLow) {
  std::vector<const ibv_srq*> low;
  ASSERT_EQ(device_->AddUser(&low, {[] {}, [&](const ibv_srq* queue) { low.push_back(queue); }}), absl::OkStatus());
  const int other = 0;
  ASSERT_EQ(device_->AddUser(&other, {[] {}, nullptr}), absl::OkStatus());
  verbs::SharedReceiveQueue queue = *verbs::SharedReceiveQueue::Create(device_->domain(), 16, 1);
  ASSERT_EQ(queue.SetLimit(1), absl::OkStatus());  // There is none.
  device_->DispatchEvents();
  EXPECT_THAT(low, ElementsAre(queue.get()));
  device_->RemoveUser(&low);
  device_->RemoveUser(&other);
}

TEST_F(DeviceContextTest, AfterItsRemovalTheConnectionManagerIsMadeToLookForIt) {
  while (RemovableDevice::listed.try_acquire()) continue;  // For those that other tests removed.
  Remove();
  EXPECT_TRUE(RemovableDevice::listed.try_acquire_for(std::chrono::seconds(60)));
}

TEST_F(DeviceContextTest, AfterItsRemovalTheNextIsAnother) {
  Remove();
  const std::shared_ptr<DeviceContext> next = Get();
  EXPECT_NE(next, device_);
  EXPECT_EQ(Get(), next);
}

TEST_F(DeviceContextTest, WhatWasMadeOfItEndsBeforeTheIdThatKeepsItOpenAndPayloadMemoryStays) {
  const BlockRef block = *PayloadArena::Get().Allocate(kBytes);
  std::fill_n(block->data(), kBytes, std::byte{'p'});
  ASSERT_TRUE(block->regions().In(*device_).ok());
  Remove();
  EXPECT_THAT(RemovableDevice::destroyed, ElementsAre());  // It is in use.
  device_.reset();
  EXPECT_THAT(RemovableDevice::destroyed, ElementsAre("registration", "domain", "id"));
  EXPECT_EQ(std::count(block->data(), block->data() + kBytes, std::byte{'p'}), kBytes);
  device_ = Get();
  EXPECT_TRUE(block->regions().In(*device_).ok());
}

}  // namespace
}  // namespace verbena::transport
