#include "transport/verbs/memory_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;

class MemoryWindowTest : public ::testing::Test {
 protected:
  FakeVerbs fake_;
  absl::StatusOr<Device> device_ = Device::Borrow(fake_.api(), fake_.context());
  absl::StatusOr<ProtectionDomain> domain_ = ProtectionDomain::Create(*device_);
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
};

TEST_F(MemoryWindowTest, BindRequestNamesWindowKeyRegionAndRange) {
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain_, absl::MakeSpan(bytes_), IBV_ACCESS_MW_BIND);
  absl::StatusOr<MemoryWindow> window = MemoryWindow::Allocate(*domain_);
  ASSERT_TRUE(window.ok()) << window.status();
  ibv_send_wr request = {};
  window->PrepareBind(*region, absl::MakeSpan(bytes_).subspan(100, 50), IBV_ACCESS_REMOTE_READ, &request);
  EXPECT_EQ(request.opcode, IBV_WR_BIND_MW);
  EXPECT_EQ(request.bind_mw.mw, window->get());
  EXPECT_EQ(request.bind_mw.rkey, window->rkey());
  EXPECT_EQ(request.bind_mw.bind_info.mr, region->get());
  EXPECT_EQ(request.bind_mw.bind_info.addr, reinterpret_cast<uint64_t>(bytes_.data() + 100));
  EXPECT_EQ(request.bind_mw.bind_info.length, 50u);
  EXPECT_EQ(request.bind_mw.bind_info.mw_access_flags, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

TEST_F(MemoryWindowTest, EveryBindHasAnotherTagUnderTheSameName) {
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain_, absl::MakeSpan(bytes_), IBV_ACCESS_MW_BIND);
  absl::StatusOr<MemoryWindow> window = MemoryWindow::Allocate(*domain_);
  uint32_t name = window->get()->rkey >> 8;
  ibv_send_wr request = {};
  window->PrepareBind(*region, absl::MakeSpan(bytes_), 0, &request);
  uint32_t first = window->rkey();
  window->PrepareBind(*region, absl::MakeSpan(bytes_), 0, &request);
  EXPECT_NE(window->rkey(), first);
  EXPECT_EQ(first >> 8, name);
  EXPECT_EQ(window->rkey() >> 8, name);
}

TEST_F(MemoryWindowTest, ABindFindsTheKeyOfTheOneBeforeInTheWindow) {
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain_, absl::MakeSpan(bytes_), IBV_ACCESS_MW_BIND);
  absl::StatusOr<MemoryWindow> window = MemoryWindow::Allocate(*domain_);
  const uint32_t original = window->get()->rkey;
  ibv_send_wr request = {};
  window->PrepareBind(*region, absl::MakeSpan(bytes_), 0, &request);
  EXPECT_EQ(window->get()->rkey, original);
  const uint32_t first = window->rkey();
  window->PrepareBind(*region, absl::MakeSpan(bytes_), 0, &request);
  EXPECT_EQ(window->get()->rkey, first);
}

TEST_F(MemoryWindowTest, InvalidateRequestNamesTheKeyOfTheNewestBind) {
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Register(*domain_, absl::MakeSpan(bytes_), IBV_ACCESS_MW_BIND);
  absl::StatusOr<MemoryWindow> window = MemoryWindow::Allocate(*domain_);
  ibv_send_wr request = {};
  window->PrepareBind(*region, absl::MakeSpan(bytes_), 0, &request);
  window->PrepareInvalidate(&request);
  EXPECT_EQ(request.opcode, IBV_WR_LOCAL_INV);
  EXPECT_EQ(request.invalidate_rkey, window->rkey());
}

TEST_F(MemoryWindowTest, IsDestroyedOnceBeforeItsDomain) {
  {
    absl::StatusOr<MemoryWindow> window = MemoryWindow::Allocate(*domain_);
    MemoryWindow moved = *std::move(window);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("window"));
}

TEST_F(MemoryWindowTest, FailedAllocationSaysWhy) {
  fake_.Fail("alloc_mw", EOPNOTSUPP);
  EXPECT_EQ(MemoryWindow::Allocate(*domain_).status(),
            absl::UnimplementedError("ibv_alloc_mw failed: Operation not supported"));
}

TEST_F(MemoryWindowTest, DeviceWithoutType2BHasNone) {
  EXPECT_FALSE(HasMemoryWindows(*device_, *domain_));
  fake_.device_attributes.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  absl::StatusOr<Device> device = Device::Borrow(fake_.api(), fake_.context());
  EXPECT_TRUE(HasMemoryWindows(*device, *domain_));
}

TEST_F(MemoryWindowTest, DeviceThatPromisesThemAndAllocatesNoneHasNone) {
  fake_.device_attributes.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  absl::StatusOr<Device> device = Device::Borrow(fake_.api(), fake_.context());
  fake_.Fail("alloc_mw", EOPNOTSUPP);
  EXPECT_FALSE(HasMemoryWindows(*device, *domain_));
}

}  // namespace
}  // namespace verbena::verbs
