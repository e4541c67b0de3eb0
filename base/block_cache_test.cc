#include "base/block_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using testing::LiveAllocationCount;

class BlockCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!BlockCache::kKeeps) GTEST_SKIP() << "nothing is kept";
  }
  // On a thread that has kept nothing yet and ends. How many more blocks the system has lent by then.
  template <typename Function>
  int64_t LentBy(Function function) {
    const int64_t before = LiveAllocationCount();
    int64_t lent = 0;
    std::thread([&] {
      const int64_t at_start = LiveAllocationCount();
      function();
      lent = LiveAllocationCount() - at_start;
    }).join();
    EXPECT_EQ(LiveAllocationCount(), before) << "what the thread kept has not gone with it";
    return lent;
  }
};

TEST_F(BlockCacheTest, WhatIsFreedServesTheNextOfAboutItsSize) {
  EXPECT_EQ(LentBy([] {
              void* const first = BlockCache::Allocate(100);
              BlockCache::Free(first, 100);
              void* const second = BlockCache::Allocate(128);
              EXPECT_EQ(second, first);
              void* const larger = BlockCache::Allocate(129);
              BlockCache::Free(second, 128);
              void* const smaller = BlockCache::Allocate(64);
              EXPECT_NE(smaller, second);
              BlockCache::Free(larger, 129);
              BlockCache::Free(smaller, 64);
            }),
            3);
}

TEST_F(BlockCacheTest, AThreadKeepsSoMuchAndNoMore) {
  constexpr size_t kBlocks = BlockCache::kKeptBytesMax / 64;
  std::vector<void*> blocks(kBlocks + 10);
  for (void*& block : blocks) block = BlockCache::Allocate(64);
  const int64_t made = LiveAllocationCount();
  for (void* block : blocks) BlockCache::Free(block, 64);
  EXPECT_EQ(made - LiveAllocationCount(), 10);
}

TEST_F(BlockCacheTest, WhatIsLargeGoesAtOnce) {
  constexpr size_t kLarge = BlockCache::kBlockBytesMax + 1;
  EXPECT_EQ(LentBy([] { BlockCache::Free(BlockCache::Allocate(kLarge), kLarge); }), 0);
}

TEST_F(BlockCacheTest, ABlockThatIsFreedOnAnotherThreadIsThatOnes) {
  void* const block = BlockCache::Allocate(64);
  std::thread([block] {
    BlockCache::Free(block, 64);
    EXPECT_EQ(BlockCache::Allocate(64), block);
    BlockCache::Free(block, 64);
  }).join();
}

TEST_F(BlockCacheTest, SharedObjectsAndClassesHaveTheirMemoryThere) {
  struct Small : Cached {
    virtual ~Small() = default;
    char bytes[40];
  };
  struct Large : Small {
    char more[400];
  };
  EXPECT_EQ(LentBy([] {
              for (int i = 0; i < 3; ++i) {
                const std::unique_ptr<Small> small = std::make_unique<Small>();
                const std::unique_ptr<Small> large = std::make_unique<Large>();
                const std::shared_ptr<int> shared = MakeSharedCached<int>(i);
                EXPECT_EQ(*shared, i);
              }
            }),
            3);
}

}  // namespace
}  // namespace verbena
