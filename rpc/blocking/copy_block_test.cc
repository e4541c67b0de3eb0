// What becomes of the blocks that are given back.

#include "rpc/blocking/copy_block.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

TEST(CopyBlock, ServesAgainButNotMoreOfThemThanMayWait) {
  constexpr size_t kMore = 3;
  std::vector<CopyBlock> blocks(kFreeCopyBlocksMax + kMore);
  const auto take = [&blocks] {
    for (CopyBlock& block : blocks) block = TakeCopyBlock();
  };
  take();
  for (CopyBlock& block : blocks) block.reset();
  EXPECT_EQ(testing::AllocationsOf(take), kMore);
}

TEST(CopyBlock, LastOneGivenBackIsTheNext) {
  CopyBlock block = TakeCopyBlock();
  const std::byte* const memory = block.get();
  block.reset();
  EXPECT_EQ(TakeCopyBlock().get(), memory);
}

}  // namespace
}  // namespace verbena::rpc
