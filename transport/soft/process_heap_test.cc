// The device's part of the heap: the calls of the table, and that peers are told where it is.

#include <cerrno>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

TEST(ProcessHeap, IsPublishedWithTheTableOfKeys) {
  void* const memory = MapMemory(kPageBytes);
  ASSERT_NE(memory, nullptr);
  const PublishedHeap& heap = SoftDevice::Get()->published().published().heap;
  EXPECT_NE(heap.descriptor, 0u);
  EXPECT_LE(heap.address, reinterpret_cast<uint64_t>(memory));
  EXPECT_LT(reinterpret_cast<uint64_t>(memory), heap.address + kHeapBytes);
  EXPECT_EQ(UnmapMemory(memory, kPageBytes), 0);
}

TEST(ProcessHeap, TakesNothingElseBack) {
  std::byte elsewhere[kPageBytes];
  EXPECT_EQ(UnmapMemory(elsewhere, kPageBytes), EINVAL);
}

}  // namespace
}  // namespace verbena::soft
