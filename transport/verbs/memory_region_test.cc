#include "transport/verbs/memory_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MemoryRegionTest : public ::testing::Test {
 protected:
  FakeVerbs fake_;
  absl::StatusOr<Device> device_ = Device::Borrow(fake_.api(), fake_.context());
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
};

TEST_F(MemoryRegionTest, HasKeysAccessAndBytes) {
  absl::StatusOr<ProtectionDomain> domain = ProtectionDomain::Create(*device_);
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain, absl::MakeSpan(bytes_), IBV_ACCESS_REMOTE_READ);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ(region->lkey(), 11u);
  EXPECT_EQ(region->rkey(), 12u);
  EXPECT_EQ(region->access(), IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(region->bytes().data(), bytes_.data());
  EXPECT_EQ(region->bytes().size(), bytes_.size());
}

TEST_F(MemoryRegionTest, RegionGoesBeforeItsDomain) {
  {
    absl::StatusOr<ProtectionDomain> domain = ProtectionDomain::Create(*device_);
    absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain, absl::MakeSpan(bytes_), 0);
    MemoryRegion moved = *std::move(region);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("region", "pd"));
}

TEST_F(MemoryRegionTest, AssignmentReleasesWhatWasHeld) {
  absl::StatusOr<ProtectionDomain> domain = ProtectionDomain::Create(*device_);
  absl::StatusOr<MemoryRegion> first = MemoryRegion::Register(*domain, absl::MakeSpan(bytes_), 0);
  absl::StatusOr<MemoryRegion> second = MemoryRegion::Register(*domain, absl::MakeSpan(bytes_), 0);
  *first = *std::move(second);
  EXPECT_THAT(fake_.destroyed(), ElementsAre("region"));
  EXPECT_EQ(first->lkey(), 11u);
}

TEST_F(MemoryRegionTest, FailedDomainDestroysNothing) {
  fake_.Fail("alloc_pd", ENOMEM);
  EXPECT_EQ(ProtectionDomain::Create(*device_).status(),
            absl::ResourceExhaustedError("ibv_alloc_pd failed: Cannot allocate memory (fake0)"));
}

TEST_F(MemoryRegionTest, FailedRegistrationNamesTheSizeAndTheLimit) {
  absl::StatusOr<ProtectionDomain> domain = ProtectionDomain::Create(*device_);
  fake_.Fail("register_memory", ENOMEM);
  absl::Status error = MemoryRegion::Register(*domain, absl::MakeSpan(bytes_), 0).status();
  EXPECT_THAT(error.message(), HasSubstr("ibv_reg_mr failed: Cannot allocate memory (4096 bytes); "));
  EXPECT_THAT(error.message(), HasSubstr("locked memory"));
}

}  // namespace
}  // namespace verbena::verbs
