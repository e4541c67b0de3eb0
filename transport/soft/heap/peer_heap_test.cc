// The peer is this process: it gives its descriptors to itself. two_process_test READs from another one's.

#include "transport/soft/heap/peer_heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/heap/shared_heap.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

uint64_t AddressOf(const std::byte* byte) { return reinterpret_cast<uint64_t>(byte); }

class PeerHeapTest : public testing::Test {
 protected:
  PeerHeapTest() {
    owner_.Publish(&published_);
    std::fill_n(memory_, kMegabyte, std::byte{7});
  }

  void SetUp() override {
    if (Find() == nullptr) GTEST_SKIP() << "the kernel gives nobody another's descriptors";
  }

  // What is found of the memory by a peer that has not looked before.
  const std::byte* Find() { return PeerHeap(getpid()).Find(published_, {AddressOf(memory_), kMegabyte}); }

  // The peer says that its heap is that file.
  void Claim(int descriptor) {
    struct stat status = {};
    ASSERT_EQ(fstat(descriptor, &status), 0);
    published_.file = status.st_ino;
    published_.descriptor = static_cast<uint32_t>(descriptor) + 1;
  }

  PublishedHeap published_ = {};
  SharedHeap owner_;
  std::byte* memory_ = owner_.Map(kMegabyte);
};

TEST_F(PeerHeapTest, WhatTheOwnerWritesIsSeen) {
  PeerHeap heap(getpid());
  const std::byte* const seen = heap.Find(published_, {AddressOf(memory_), kMegabyte});
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(seen, memory_);
  EXPECT_EQ(seen[kMegabyte - 1], std::byte{7});
  memory_[kMegabyte - 1] = std::byte{8};
  EXPECT_EQ(seen[kMegabyte - 1], std::byte{8});
  EXPECT_EQ(heap.Find(published_, {AddressOf(memory_) + 100, 1}), seen + 100);
}

// By which Zen's first-level data cache finds a line, beside its place in the page: shared_mapping.cc.
uint64_t HashedBits(const std::byte* place) {
  constexpr int kBitPairs[][2] = {{12, 27}, {13, 26}, {14, 25}, {15, 20}, {16, 21}, {17, 22}, {18, 23}, {19, 24}};
  uint64_t hash = 0;
  for (const auto& [low, high] : kBitPairs) {
    hash = hash << 1 | ((AddressOf(place) >> low ^ AddressOf(place) >> high) & 1);
  }
  return hash;
}

// Run once more where the kernel puts mappings above each other: heap_test_with_mappings_upward.
TEST_F(PeerHeapTest, OwnAndPeersHeapsDifferInTheAddressBitsThatCachesHash) {
  constexpr int kPeers = 4;
  SharedHeap owners[kPeers];
  PublishedHeap published[kPeers] = {};
  std::vector<PeerHeap> peers(kPeers, PeerHeap(getpid()));
  std::set<uint64_t> hashes = {HashedBits(memory_)};
  for (int i = 0; i < kPeers; ++i) {
    owners[i].Publish(&published[i]);
    const std::byte* const own = owners[i].Map(kMegabyte);
    const std::byte* const seen = peers[i].Find(published[i], {AddressOf(own), kMegabyte});
    ASSERT_NE(seen, nullptr);
    hashes.insert({HashedBits(own), HashedBits(seen)});
  }
  EXPECT_EQ(hashes.size(), 1 + 2 * kPeers);
}

TEST_F(PeerHeapTest, WhatTheOwnerTookBackIsThereAsZeros) {
  PeerHeap heap(getpid());
  const std::byte* const seen = heap.Find(published_, {AddressOf(memory_), kMegabyte});
  ASSERT_NE(seen, nullptr);
  EXPECT_TRUE(owner_.Unmap(memory_, kMegabyte));
  EXPECT_EQ(seen[100], std::byte{0});
}

TEST_F(PeerHeapTest, OtherMemoryIsNotFound) {
  PeerHeap heap(getpid());
  EXPECT_EQ(heap.Find(published_, {published_.address - 1, 1}), nullptr);
  EXPECT_EQ(heap.Find(published_, {published_.address - 1, kMegabyte}), nullptr);
  EXPECT_EQ(heap.Find(published_, {published_.address + kMegabyte - 1, 2}), nullptr);
  EXPECT_EQ(heap.Find(published_, {published_.address, kHeapBytes + 1}), nullptr);
  EXPECT_EQ(heap.Find(published_, {published_.address + 1, UINT64_MAX}), nullptr);
  EXPECT_NE(heap.Find(published_, {published_.address + kMegabyte - 1, 1}), nullptr);
}

TEST_F(PeerHeapTest, WhatIsGivenOutLaterIsSeen) {
  PeerHeap heap(getpid());
  EXPECT_NE(heap.Find(published_, {AddressOf(memory_), kMegabyte}), nullptr);
  std::byte* const later = owner_.Map(64 * kMegabyte);
  later[0] = std::byte{9};
  const std::byte* const seen = heap.Find(published_, {AddressOf(later), 64 * kMegabyte});
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen[0], std::byte{9});
}

TEST_F(PeerHeapTest, MoreThanAHeapHoldsIsNotBelieved) {
  published_.used = kHeapBytes + 1;
  EXPECT_EQ(Find(), nullptr);
}

// It is not filled by who locks all that he has: no further than what was given out.
TEST_F(PeerHeapTest, MayBeMappedWhereAllMemoryIsLocked) {
  PeerHeap heap(getpid());
  const std::byte* const seen = heap.Find(published_, {AddressOf(memory_), kMegabyte});
  ASSERT_NE(seen, nullptr);
  if (mlockall(MCL_CURRENT) != 0) GTEST_SKIP() << "too little may be locked";
  EXPECT_EQ(munlockall(), 0);
  struct stat status = {};
  ASSERT_EQ(fstat(static_cast<int>(published_.descriptor - 1), &status), 0);
  EXPECT_LE(static_cast<size_t>(status.st_blocks) * 512, kMegabyte);
}

TEST_F(PeerHeapTest, NoneIsFoundBeforeItIsThere) {
  const PublishedHeap later = {};
  EXPECT_EQ(PeerHeap(getpid()).Find(later, {0, 1}), nullptr);
}

TEST_F(PeerHeapTest, APeerThatIsGoneHasNone) {
  constexpr pid_t kNobody = 1 << 30;  // Above the most that the kernel gives.
  EXPECT_EQ(PeerHeap(kNobody).Find(published_, {AddressOf(memory_), kMegabyte}), nullptr);
}

// Its process id may be another's by now, and the descriptor that of anything.
TEST_F(PeerHeapTest, AnotherFileIsNotTaken) {
  SharedHeap other;
  PublishedHeap of_other = {};
  other.Publish(&of_other);
  other.Map(kPageBytes);
  published_.descriptor.store(of_other.descriptor.load());
  EXPECT_EQ(Find(), nullptr);
}

TEST_F(PeerHeapTest, WhatIsNoOpenDescriptorIsNotTaken) {
  for (const uint32_t descriptor : {uint32_t{1} << 20, UINT32_MAX}) {
    published_.descriptor = descriptor;
    EXPECT_EQ(Find(), nullptr);
  }
}

TEST_F(PeerHeapTest, APipeIsNotTaken) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  Claim(reader.get());
  EXPECT_EQ(Find(), nullptr);
}

// Its owner could make it shorter while it is read.
TEST_F(PeerHeapTest, AFileWhoseSizeIsNotSealedIsNotTaken) {
  const UniqueFd file(memfd_create("claimed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(kHeapBytes)), 0);
  Claim(file.get());
  EXPECT_EQ(Find(), nullptr);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_NE(Find(), nullptr);
}

TEST_F(PeerHeapTest, AShortFileIsNotTaken) {
  const UniqueFd file(memfd_create("claimed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), kMegabyte), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  Claim(file.get());
  EXPECT_EQ(Find(), nullptr);
}

}  // namespace
}  // namespace verbena::soft
