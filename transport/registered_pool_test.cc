#include "transport/registered_pool.h"

#include <cerrno>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/testing/mapping_flags.h"
#include "transport/verbs/device.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

class RegisteredPoolTest : public testing::Test {
 protected:
  verbs::FakeVerbs fake_;
  verbs::Device device_ = *verbs::Device::Borrow(fake_.api(), fake_.context());
  verbs::ProtectionDomain domain_ = *verbs::ProtectionDomain::Create(device_);
};

TEST_F(RegisteredPoolTest, BuffersDoNotOverlapAndComeBackWhenDestroyed) {
  RegisteredPool pool(domain_, 512, 0);
  ASSERT_TRUE(pool.Grow(2).ok());
  {
    const RegisteredPool::Buffer a = pool.Take();
    const RegisteredPool::Buffer b = pool.Take();
    EXPECT_EQ(std::abs(a.data() - b.data()), 512);
    EXPECT_EQ(pool.free(), 0u);
  }
  EXPECT_EQ(pool.free(), 2u);
}

TEST_F(RegisteredPoolTest, GrowingNumbersTheNewBuffersAfterTheOld) {
  RegisteredPool pool(domain_, 512, 0);
  ASSERT_TRUE(pool.Grow(2).ok());
  const RegisteredPool::Buffer first = pool.Take();
  std::byte* const data = first.data();
  const RegisteredPool::Buffer second = pool.Take();
  ASSERT_TRUE(pool.Grow(3).ok());
  EXPECT_EQ(pool.Take().index(), 2u);
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(pool.size(), 5u);
}

TEST_F(RegisteredPoolTest, PinnedMemoryIsCountedWhileThePoolLives) {
  const uint64_t before = ReadTransportCounters().pinned_bytes;
  {
    RegisteredPool pool(domain_, 1024, 0);
    ASSERT_TRUE(pool.Grow(8).ok());
    EXPECT_EQ(ReadTransportCounters().pinned_bytes, before + 8192);
  }
  EXPECT_EQ(ReadTransportCounters().pinned_bytes, before);
}

TEST_F(RegisteredPoolTest, SlabsOfWhichNothingIsTakenAreGivenBackAndTheirNumbersAreGivenAgain) {
  const uint64_t before = ReadTransportCounters().pinned_bytes;
  RegisteredPool pool(domain_, 512, 0);
  std::vector<RegisteredPool::Buffer> taken;
  for (int slab = 0; slab < 3; ++slab) {
    ASSERT_TRUE(pool.Grow(2).ok());
    for (int i = 0; i < 2; ++i) taken.push_back(pool.Take());
  }
  taken.erase(taken.begin() + 1, taken.begin() + 4);  // Half of the first slab, and the second.
  EXPECT_FALSE(pool.GiveBackFree(0, kNoLimit));
  EXPECT_EQ(pool.size(), 4u);
  EXPECT_EQ(pool.free(), 1u);
  EXPECT_EQ(ReadTransportCounters().pinned_bytes, before + size_t{4} * 512);
  taken.push_back(pool.Take());
  ASSERT_TRUE(pool.Grow(2).ok());
  EXPECT_EQ(pool.Take().index(), 2u);
  ASSERT_TRUE(pool.Grow(2).ok());
  EXPECT_EQ(pool.Take().index(), 6u);
}

TEST_F(RegisteredPoolTest, AsManyBuffersStayAsAreToStay) {
  RegisteredPool pool(domain_, 512, 0);
  for (int slab = 0; slab < 3; ++slab) ASSERT_TRUE(pool.Grow(2).ok());
  EXPECT_FALSE(pool.GiveBackFree(3, kNoLimit));
  EXPECT_EQ(pool.size(), 4u);
  EXPECT_EQ(pool.Take().index(), 0u) << "the lowest are taken first, so that the highest may go";
}

TEST_F(RegisteredPoolTest, NoMoreIsGivenBackAtATimeThanAllowed) {
  RegisteredPool pool(domain_, 512, 0);
  for (int slab = 0; slab < 3; ++slab) ASSERT_TRUE(pool.Grow(2).ok());
  EXPECT_TRUE(pool.GiveBackFree(0, 2 * 1024));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_FALSE(pool.GiveBackFree(0, 2 * 1024));
  EXPECT_EQ(pool.size(), 0u);
}

TEST_F(RegisteredPoolTest, BuffersStandInMemoryForWhichHugePagesWereAskedFor) {
  if (!ShowsHugePages()) GTEST_SKIP() << "this kernel has no huge pages, or does not say for what they were asked";
  RegisteredPool pool(domain_, 8192, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_TRUE(pool.Grow(1024).ok());
  EXPECT_THAT(FlagsOfMapping(pool.Take().data()), AnyOf(HasSubstr(" hg"), HasSubstr(" ht")));
}

TEST_F(RegisteredPoolTest, MemoryThatCannotBePinnedIsAnErrorThatNamesTheLimit) {
  fake_.Fail("register_memory", ENOMEM);
  RegisteredPool pool(domain_, 512, 0);
  const absl::Status status = pool.Grow(2);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("limit"), absl::string_view::npos) << status;
  EXPECT_EQ(pool.size(), 0u);
}

}  // namespace
}  // namespace verbena::transport
