#include "transport/payload_mapper.h"

#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"
#include "transport/soft/soft_api.h"

namespace verbena::transport {
namespace {

constexpr size_t kPage = 4096;

class PayloadMapperTest : public testing::Test {
 protected:
  // Names the device that addresses without a scheme lead to.
  static void Choose(const char* device) { setenv("VERBENA_DEVICE", device, 1); }
  ~PayloadMapperTest() override { unsetenv("VERBENA_DEVICE"); }
};

TEST_F(PayloadMapperTest, MapsWhereTheSoftwareDevicesPeersRead) {
  Choose("soft");
  std::byte* const memory = PayloadMapper().Map(4 * kPage, 0);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 7, 4 * kPage);
  PayloadMapper().Unmap({memory, kPage});  // In parts: huge pages are cut out of the middle.
  EXPECT_EQ(memory[kPage], std::byte{7});
  EXPECT_EQ(soft::SoftApi().unmap_memory(memory + kPage, 3 * kPage), 0);
}

TEST_F(PayloadMapperTest, MapsOrdinaryMemoryForOtherDevices) {
  Choose("none such");
  std::byte* const memory = PayloadMapper().Map(kPage, 0);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 7, kPage);
  EXPECT_NE(soft::SoftApi().unmap_memory(memory, kPage), 0);
  PayloadMapper().Unmap({memory, kPage});
}

}  // namespace
}  // namespace verbena::transport
