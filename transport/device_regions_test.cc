#include "transport/device_regions.h"

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "transport/testing/device_context_fixture.h"

namespace verbena::transport {
namespace {

class DeviceRegionsTest : public DeviceContextTest {
 protected:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(10000);
  DeviceRegions regions_{absl::MakeSpan(bytes_), DeviceRegions::Use::kSendAndLand};
};

TEST_F(DeviceRegionsTest, ThereIsOneRegistrationForEachDevice) {
  const verbs::MemoryRegion* const first = *regions_.In(*device_);
  EXPECT_EQ(*regions_.In(*device_), first);
  Remove();
  const std::shared_ptr<DeviceContext> next = Get();
  const verbs::MemoryRegion* const second = *regions_.In(*next);
  EXPECT_NE(second, first);
  EXPECT_EQ(*regions_.In(*device_), first);
  EXPECT_EQ(*regions_.In(*next), second);
  regions_.Clear();
}

TEST_F(DeviceRegionsTest, PlaceOfARegistrationThatHasEndedIsTheNexts) {
  const verbs::MemoryRegion* const first = *regions_.In(*device_);
  regions_.Deregister(device_->domain());
  regions_.Deregister(device_->domain());  // There is none: nothing happens.
  Remove();
  const std::shared_ptr<DeviceContext> next = Get();
  EXPECT_EQ(*regions_.In(*next), first);  // The same object, of another domain.
  regions_.Clear();
}

TEST_F(DeviceRegionsTest, ThreadsThatAskAtOnceAreGivenTheSame) {
  std::vector<const verbs::MemoryRegion*> given(4);
  std::vector<std::thread> threads;
  for (const verbs::MemoryRegion*& mine : given) {
    threads.emplace_back([&] { mine = *regions_.In(*device_); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const verbs::MemoryRegion* region : given) EXPECT_EQ(region, given.front());
  regions_.Clear();
}

}  // namespace
}  // namespace verbena::transport
