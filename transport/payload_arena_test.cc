#include "transport/payload_arena.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "transport/payload_memory.h"

namespace verbena::transport {
namespace {

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

TEST(PayloadArena, PastTheLimitTheErrorNamesIt) {
  PayloadArena& arena = PayloadArena::Get();
  SetPayloadMemoryLimit(1 << 20);
  const absl::Status status = arena.Allocate(64 << 20).status();
  SetPayloadMemoryLimit(size_t{16} << 30);
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
