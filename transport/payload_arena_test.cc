#include "transport/payload_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/payload_memory.h"
#include "transport/testing/mapping_flags.h"
#include "transport/testing/pretended_numa_node.h"

namespace verbena::transport {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// The thread of all tests of this program, but for those that say another node: a thread that is not pinned might be
// given other blocks in the middle of one.
const PretendedNumaNode kOneNode(0);

TEST(PayloadBlockCapacity, CoversTheSizeAndWastesAtMostAFifth) {
  for (size_t size :
       {size_t{1}, size_t{4096}, size_t{4097}, size_t{1} << 20, (size_t{1} << 20) + 32, size_t{5} << 30}) {
    const size_t capacity = PayloadBlockCapacity(size);
    EXPECT_GE(capacity, size);
    EXPECT_EQ(capacity % 4096, 0u);
    EXPECT_LE(capacity, std::max(size + size / 4, size_t{16384}));
  }
}

TEST(PayloadArena, AFreedBlockIsTheNextOneOfItsClass) {
  PayloadArena& arena = PayloadArena::Get();
  std::byte* first = nullptr;
  {
    const BlockRef block = *arena.Allocate(100000);
    first = block->data();
  }
  EXPECT_EQ((*arena.Allocate(100000))->data(), first);
}

TEST(PayloadArena, AFreedBlockIsTheNextOneOfItsMemoryNode) {
  PayloadArena& arena = PayloadArena::Get();
  const auto address_on = [&arena](int node) {
    const PretendedNumaNode pretended(node);
    return (*arena.Allocate(size_t{3} << 20))->data();
  };
  std::byte* const of_one = address_on(1);
  std::byte* const of_two = address_on(2);
  EXPECT_NE(of_one, of_two);
  EXPECT_EQ(address_on(1), of_one);
  EXPECT_EQ(address_on(2), of_two);
}

TEST(PayloadArena, ABlockThatAThreadOfAnotherMemoryNodeFreesGoesBackToItsOwn) {
  PayloadArena& arena = PayloadArena::Get();
  std::byte* of_one = nullptr;
  {
    BlockRef block;
    {
      const PretendedNumaNode one(1);
      block = *arena.Allocate(size_t{5} << 20);
      of_one = block->data();
    }
    const PretendedNumaNode two(2);
    block = BlockRef();
    EXPECT_NE((*arena.Allocate(size_t{5} << 20))->data(), of_one);
  }
  const PretendedNumaNode one(1);
  EXPECT_EQ((*arena.Allocate(size_t{5} << 20))->data(), of_one);
}

TEST(PayloadArena, AtItsLimitABlockOfAnotherMemoryNodeServes) {
  PayloadArena& arena = PayloadArena::Get();
  constexpr size_t kBytes = size_t{14} << 20;  // No other test's.
  std::byte* of_one = nullptr;
  {
    const PretendedNumaNode one(1);
    of_one = (*arena.Allocate(kBytes))->data();
  }
  const size_t mapped = arena.mapped_bytes();
  arena.set_limit(mapped);
  const PretendedNumaNode two(2);
  EXPECT_EQ((*arena.Allocate(kBytes))->data(), of_one);
  EXPECT_EQ(arena.mapped_bytes(), mapped) << "nothing else was given up for it";
  arena.set_limit(kPayloadMemoryLimitDefault);
}

TEST(PayloadArena, ABlockLivesUntilItsLastReferenceIsGone) {
  PayloadArena& arena = PayloadArena::Get();
  const size_t before = arena.blocks_in_use();
  absl::Cord lent;
  {
    const BlockRef block = *arena.Allocate(5000);
    std::memset(block->data(), 'x', 5000);
    lent = block.ToCord(10, 100);
  }
  EXPECT_EQ(arena.blocks_in_use(), before + 1);
  EXPECT_EQ(lent, std::string(100, 'x'));
  lent.Clear();
  EXPECT_EQ(arena.blocks_in_use(), before);
}

TEST(PayloadArena, FindsTheBlockOfBytesInUseAndNothingElse) {
  PayloadArena& arena = PayloadArena::Get();
  std::byte* data = nullptr;
  {
    const BlockRef block = *arena.Allocate(8192);
    data = block->data();
    EXPECT_EQ(arena.Find(data + 100, 50).get(), block.get());
    EXPECT_FALSE(arena.Find(data + 100, block->capacity()));
    EXPECT_FALSE(arena.Find(data - 1, 1));
    const std::string elsewhere(100, 'x');
    EXPECT_FALSE(arena.Find(elsewhere.data(), 100));
  }
  EXPECT_FALSE(arena.Find(data, 1)) << "a free block is nobody's payload";
}

TEST(PayloadArena, BlocksStandInMemoryForWhichHugePagesWereAskedFor) {
  if (!ShowsHugePages()) GTEST_SKIP() << "this kernel has no huge pages, or does not say for what they were asked";
  const BlockRef block = *PayloadArena::Get().Allocate(size_t{10} << 20);
  EXPECT_THAT(FlagsOfMapping(block->data()), AnyOf(HasSubstr(" hg"), HasSubstr(" ht")));
}

size_t Pages(const PayloadBlock& block) { return block.capacity() / static_cast<size_t>(getpagesize()); }

size_t PagesInMemory(const PayloadBlock& block) {
  std::vector<unsigned char> pages(Pages(block));
  EXPECT_EQ(mincore(block.data(), block.capacity(), pages.data()), 0);
  return static_cast<size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

// Linux has done so since 5.14.
bool TakesPagesTogether() {
  const size_t bytes = static_cast<size_t>(getpagesize());
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(page, MAP_FAILED);
  const bool taken = madvise(page, bytes, MADV_POPULATE_WRITE) == 0;
  munmap(page, bytes);
  return taken;
}

TEST(PayloadArena, WhatIsAboutToBeWrittenHasItsPages) {
  if (!TakesPagesTogether()) GTEST_SKIP() << "this kernel takes pages by faults only";
  SetPayloadMemoryLimit(0);
  EXPECT_FALSE(PayloadArena::Get().Allocate(size_t{1} << 40).ok());  // What is kept, and was written, is unmapped.
  SetPayloadMemoryLimit(kPayloadMemoryLimitDefault);
  const BlockRef block = *PayloadArena::Get().Allocate(7 << 20);
  if (PagesInMemory(*block.get()) == Pages(*block.get())) GTEST_SKIP() << "it stands in huge pages set aside";
  EXPECT_EQ(PagesInMemory(*block.get()), 0u);
  block->PrepareToWrite(1);
  EXPECT_GT(PagesInMemory(*block.get()), 0u);
  block->PrepareToWrite(block->capacity());
  EXPECT_EQ(PagesInMemory(*block.get()), Pages(*block.get()));
}

TEST(PayloadArena, PastTheLimitTheErrorNamesIt) {
  PayloadArena& arena = PayloadArena::Get();
  SetPayloadMemoryLimit(1 << 20);
  const absl::Status status = arena.Allocate(64 << 20).status();
  SetPayloadMemoryLimit(kPayloadMemoryLimitDefault);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("limit 1048576"), absl::string_view::npos) << status;
}

TEST(PayloadArena, CordsMayBeDroppedOnAnyThread) {
  PayloadArena& arena = PayloadArena::Get();
  const size_t before = arena.blocks_in_use();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&arena] {
      for (int i = 0; i < 1000; ++i) {
        const BlockRef block = *arena.Allocate(4096);
        block->data()[0] = std::byte{1};
        absl::Cord cord = block.ToCord(0, 10);
        arena.Find(block->data(), 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena.blocks_in_use(), before);
}

// The arena is the process's, so each test has a time of its own, later than the others'.
class KeptBlocks : public testing::Test {
 protected:
  // Holds `count` blocks at once, and lets go of them.
  void Use(size_t count, size_t bytes) {
    std::vector<BlockRef> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back(*arena_.Allocate(bytes));
  }
  bool NextPeriod() {
    now_ += PayloadArena::kPeriod;
    return arena_.GiveBackUnused(now_);
  }
  void SetUp() override {
    while (NextPeriod()) {
    }
  }

  static inline absl::Time now_ = absl::UnixEpoch();
  PayloadArena& arena_ = PayloadArena::Get();
};

constexpr size_t kBlock = size_t{8} << 20;

TEST_F(KeptBlocks, WhatWasNotNeededForAPeriodIsGivenBackButForALittle) {
  Use(8, kBlock);
  EXPECT_TRUE(NextPeriod());  // They were in use in it.
  EXPECT_GE(arena_.mapped_bytes(), 8 * kBlock);
  int periods = 1;
  while (NextPeriod()) ++periods;
  EXPECT_LE(arena_.mapped_bytes(), PayloadArena::kKeptIdle);
  EXPECT_GE(arena_.mapped_bytes(), PayloadArena::kKeptIdle - kBlock);
  EXPECT_GE(periods, 2) << "little by little";
}

TEST_F(KeptBlocks, NoMoreIsGivenBackAtATimeThanTheMost) {
  Use(12, kBlock);
  NextPeriod();
  size_t mapped = arena_.mapped_bytes();
  do {
    EXPECT_GE(arena_.mapped_bytes() + PayloadArena::kGivenBackMax, mapped);
    mapped = arena_.mapped_bytes();
  } while (NextPeriod());
}

TEST_F(KeptBlocks, ABlockLargerThanTheMostIsGivenBackAlone) {
  Use(1, 2 * PayloadArena::kGivenBackMax);
  NextPeriod();
  const size_t mapped = arena_.mapped_bytes();
  NextPeriod();
  EXPECT_EQ(arena_.mapped_bytes(), mapped - 2 * PayloadArena::kGivenBackMax);
}

TEST_F(KeptBlocks, WhatIsNeededInEachPeriodStaysAndOnlyTheRestGoes) {
  Use(9, kBlock);
  NextPeriod();
  for (int period = 0; period < 10; ++period) {
    Use(4, kBlock);
    NextPeriod();
  }
  const size_t mapped = arena_.mapped_bytes();
  EXPECT_GE(mapped, 4 * kBlock);
  EXPECT_LT(mapped, 9 * kBlock);
  Use(4, kBlock);
  EXPECT_EQ(arena_.mapped_bytes(), mapped) << "they were kept";
}

TEST_F(KeptBlocks, BetweenPeriodsNothingIsGivenBack) {
  Use(8, kBlock);
  NextPeriod();
  const size_t mapped = arena_.mapped_bytes();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(arena_.GiveBackUnused(now_ + absl::Milliseconds(i)));
  EXPECT_EQ(arena_.mapped_bytes(), mapped);
}

TEST(PayloadMemory, BecomesACordWithoutACopy) {
  PayloadMemory memory = *AllocatePayload(20000);
  std::memset(memory.data(), 'v', memory.size());
  const auto* const data = reinterpret_cast<const char*>(memory.data());
  const absl::Cord cord = std::move(memory).ToCord();
  EXPECT_EQ(cord.size(), 20000u);
  EXPECT_EQ(cord.TryFlat()->data(), data);
}

TEST(PayloadMemory, NoBytesMakeAnEmptyCord) { EXPECT_TRUE((*AllocatePayload(0)).size() == 0); }

}  // namespace
}  // namespace verbena::transport
