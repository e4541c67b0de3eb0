#include "transport/soft/heap/shared_heap.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/testing/holds_in_child.h"

namespace verbena::soft {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

bool AreAll(const std::byte* bytes, size_t count, std::byte value) {
  return std::all_of(bytes, bytes + count, [value](std::byte byte) { return byte == value; });
}

TEST(SharedHeap, GivesZerosInWholePages) {
  SharedHeap heap;
  std::byte* const memory = heap.Map(kMegabyte);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kPageBytes, 0u);
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{0}));
  std::fill_n(memory, kMegabyte, std::byte{7});
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{7}));
}

TEST(SharedHeap, RangesAreApart) {
  SharedHeap heap;
  std::byte* const one = heap.Map(kMegabyte);
  std::byte* const other = heap.Map(kMegabyte);
  std::fill_n(one, kMegabyte, std::byte{1});
  std::fill_n(other, kMegabyte, std::byte{2});
  EXPECT_TRUE(AreAll(one, kMegabyte, std::byte{1}));
}

TEST(SharedHeap, WhatIsGivenBackIsZerosTheNextTime) {
  SharedHeap heap;
  std::byte* const memory = heap.Map(kMegabyte);
  std::fill_n(memory, kMegabyte, std::byte{7});
  EXPECT_TRUE(heap.Unmap(memory, kMegabyte));
  std::byte* const again = heap.Map(kMegabyte);
  EXPECT_EQ(again, memory);
  EXPECT_TRUE(AreAll(again, kMegabyte, std::byte{0}));
}

TEST(SharedHeap, APartMayBeGivenBackAndTheRestStays) {
  SharedHeap heap;
  std::byte* const memory = heap.Map(3 * kMegabyte);
  std::fill_n(memory, 3 * kMegabyte, std::byte{7});
  EXPECT_TRUE(heap.Unmap(memory + kMegabyte, kMegabyte));
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{7}));
  EXPECT_TRUE(AreAll(memory + 2 * kMegabyte, kMegabyte, std::byte{7}));
  EXPECT_EQ(heap.Map(kMegabyte), memory + kMegabyte);
}

TEST(SharedHeap, NeighboursThatAreGivenBackBecomeOneRange) {
  SharedHeap heap;
  std::byte* const first = heap.Map(kMegabyte);
  std::byte* const second = heap.Map(kMegabyte);
  std::byte* const third = heap.Map(kMegabyte);
  std::byte* const fourth = heap.Map(kMegabyte);
  EXPECT_TRUE(heap.Unmap(first, kMegabyte));
  EXPECT_TRUE(heap.Unmap(third, kMegabyte));
  EXPECT_TRUE(heap.Unmap(second, kMegabyte));
  EXPECT_EQ(heap.Map(3 * kMegabyte), first);
  EXPECT_EQ(heap.Map(kMegabyte), fourth + kMegabyte);
}

TEST(SharedHeap, WithoutRoomThereIsNone) {
  SharedHeap heap;
  EXPECT_EQ(heap.Map(kHeapBytes + kPageBytes), nullptr);
  std::byte* const all = heap.Map(kHeapBytes);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(heap.Map(kPageBytes), nullptr);
  EXPECT_TRUE(heap.Unmap(all, kHeapBytes));
  EXPECT_NE(heap.Map(kPageBytes), nullptr);
}

TEST(SharedHeap, TakesNothingBackThatIsNoneOfIt) {
  SharedHeap heap;
  std::byte elsewhere[kPageBytes];
  EXPECT_FALSE(heap.Unmap(elsewhere, kPageBytes));
  std::byte* const memory = heap.Map(kPageBytes);
  EXPECT_FALSE(heap.Unmap(elsewhere, kPageBytes));
  EXPECT_FALSE(heap.Unmap(memory, kHeapBytes + kPageBytes));
  memory[0] = std::byte{1};  // It is there still.
}

// Files may be short only: to make it longer would raise SIGXFSZ.
TEST(SharedHeap, IsNoneWhereFilesMayNotBeSoLong) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = kMegabyte;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  SharedHeap heap;
  EXPECT_EQ(heap.Map(kPageBytes), nullptr);
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(heap.Map(kPageBytes), nullptr);  // Not tried again.
  EXPECT_NE(SharedHeap().Map(kPageBytes), nullptr);
}

// What is reserved is not filled: the process would not live through it. Whoever may lock too little has no heap.
TEST(SharedHeap, IsReservedWhereAllMemoryIsToBeLocked) {
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "nothing may be locked";
  SharedHeap heap;
  std::byte* const memory = heap.Map(kMegabyte);
  EXPECT_EQ(munlockall(), 0);
  if (memory == nullptr) GTEST_SKIP() << "too little may be locked";
  std::fill_n(memory, kMegabyte, std::byte{7});
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{7}));
}

// Of the mapping that `address` is in: proc(5), VmFlags.
std::string FlagsOf(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      is_it = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    } else if (is_it && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

bool IsDumped(const std::byte* address) { return FlagsOf(address).find(" dd ") == std::string::npos; }

TEST(SharedHeap, WhatIsGivenOutIsDumpedAndNothingElse) {
  SharedHeap heap;
  std::byte* const memory = heap.Map(2 * kMegabyte);
  EXPECT_TRUE(IsDumped(memory));
  EXPECT_FALSE(IsDumped(memory + 2 * kMegabyte));
  EXPECT_TRUE(heap.Unmap(memory, kMegabyte));
  EXPECT_FALSE(IsDumped(memory));
  EXPECT_TRUE(IsDumped(memory + kMegabyte));
}

TEST(SharedHeap, WhatIsLockedAndMadeOfHugePagesIsGivenBackLikeOthers) {
  SharedHeap heap;
  std::byte* const memory = heap.Map(kMegabyte);
  std::fill_n(memory, kMegabyte, std::byte{7});
  madvise(memory, kMegabyte, MADV_HUGEPAGE);
  if (mlock(memory, kPageBytes) != 0) GTEST_SKIP() << "not a page may be locked";
  EXPECT_TRUE(heap.Unmap(memory, kMegabyte));
  EXPECT_EQ(FlagsOf(memory), FlagsOf(memory + kMegabyte));
  ASSERT_EQ(heap.Map(kMegabyte), memory);
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{0}));
}

TEST(SharedHeap, IsPublishedWhenThereIsOne) {
  PublishedHeap published = {};
  SharedHeap heap;
  heap.Publish(&published);
  EXPECT_EQ(published.descriptor, 0u);
  const std::byte* const memory = heap.Map(kPageBytes);
  EXPECT_NE(published.descriptor, 0u);
  EXPECT_EQ(published.address, reinterpret_cast<uint64_t>(memory));

  PublishedHeap later = {};
  heap.Publish(&later);
  EXPECT_EQ(later.descriptor, published.descriptor);
  EXPECT_EQ(later.file, published.file);
}

TEST(SharedHeap, AChildSeesWhatWasThereAndItsWritesAreItsOwn) {
  std::byte* const memory = SharedHeap::OfProcess().Map(kMegabyte);
  std::fill_n(memory, kMegabyte, std::byte{7});
  EXPECT_TRUE(HoldsInChild([memory] {
    const bool same = AreAll(memory, kMegabyte, std::byte{7});
    std::fill_n(memory, kMegabyte, std::byte{8});
    return same && SharedHeap::OfProcess().Map(kPageBytes) == nullptr &&
           SharedHeap::OfProcess().Unmap(memory, kMegabyte);
  }));
  EXPECT_TRUE(AreAll(memory, kMegabyte, std::byte{7}));
  EXPECT_TRUE(SharedHeap::OfProcess().Unmap(memory, kMegabyte));
}

TEST(SharedHeap, AChildsChildSeesWhatTheChildWrote) {
  std::byte* const memory = SharedHeap::OfProcess().Map(kMegabyte);
  std::fill_n(memory, kMegabyte, std::byte{7});
  EXPECT_TRUE(HoldsInChild([memory] {
    std::fill_n(memory, kMegabyte, std::byte{8});
    return HoldsInChild([memory] { return AreAll(memory, kMegabyte, std::byte{8}); });
  }));
  EXPECT_TRUE(SharedHeap::OfProcess().Unmap(memory, kMegabyte));
}

}  // namespace
}  // namespace verbena::soft
