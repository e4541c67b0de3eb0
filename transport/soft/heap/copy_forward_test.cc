#include "transport/soft/heap/copy_forward.h"

#include <sys/mman.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

TEST(CopyForward, KnowsTheDistancesThatAreSlow) {
  const auto at = [](uint64_t address) { return reinterpret_cast<std::byte*>(address); };
  constexpr uint64_t kFrom = 0x7f0000001000;
  for (const uint64_t far : {uint64_t{0}, uint64_t{3} << 12, uint64_t{1} << 32, uint64_t{16} << 32}) {
    for (const uint64_t distance : {1, 32, 63}) EXPECT_TRUE(IsBadForRepMovsb(at(kFrom + far + distance), at(kFrom)));
    for (const uint64_t distance : {0, 64, 4095, 4096})
      EXPECT_FALSE(IsBadForRepMovsb(at(kFrom + far + distance), at(kFrom)));
  }
  EXPECT_TRUE(IsBadForRepMovsb(at(kFrom + 32), at(kFrom + (uint64_t{1} << 32))));
  EXPECT_FALSE(IsBadForRepMovsb(at(kFrom), at(kFrom + 32)));
}

// So far apart that it goes by pieces for some of the shifts.
TEST(CopyForward, CopiesAllAndNoMore) {
  constexpr size_t kFar = size_t{1} << 32;
  constexpr size_t kRoom = size_t{1} << 20;
  void* const mapped =
      mmap(nullptr, kFar + kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const from = static_cast<std::byte*>(mapped);
  std::byte* const to = from + kFar;
  for (size_t i = 0; i < kRoom; ++i) from[i] = static_cast<std::byte>(i * 7 >> 3 | 1);
  for (const size_t bytes : {0, 1, 1983, 1984, 1985, 3968, 10'000}) {
    for (size_t shift = 0; shift < 128; ++shift) {
      std::memset(to, 0, bytes + 256);
      CopyForward(to + shift, from, bytes);
      ASSERT_TRUE(std::equal(from, from + bytes, to + shift)) << bytes << " bytes, " << shift;
      ASSERT_EQ(to[shift + bytes], std::byte{0});
      ASSERT_TRUE(shift == 0 || to[shift - 1] == std::byte{0});
    }
  }
  munmap(mapped, kFar + kRoom);
}

}  // namespace
}  // namespace verbena::soft
