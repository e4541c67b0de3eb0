#include "transport/payload_magazine.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"
#include "transport/payload_arena.h"
#include "transport/payload_memory.h"
#include "transport/testing/pretended_numa_node.h"

namespace verbena::transport {
namespace {

constexpr size_t kSmall = 16384;
constexpr size_t kLarge = PayloadMagazine::kBlockBytesMax + 1;

class PayloadMagazineTest : public testing::Test {
 protected:
  // Within the loop, which has a magazine from then on.
  void InLoop(absl::FunctionRef<void()> what) {
    bool done = false;
    loop_->Post([what, &done] {
      what();
      done = true;
    });
    loop_->RunUntil([&done] { return done; });
  }
  // Holds `count` blocks at once, and lets go of them.
  void Use(size_t count, size_t bytes) {
    std::vector<BlockRef> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back(*arena_.Allocate(bytes));
  }
  size_t AtHand() const { return arena_.blocks_in_use() - in_use_before_; }

  const PretendedNumaNode one_node_{0};  // Of the thread that runs the loop too, wherever it is.
  PayloadArena& arena_ = PayloadArena::Get();
  const size_t in_use_before_ = arena_.blocks_in_use();
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kEvent});
};

TEST_F(PayloadMagazineTest, WhatALoopLetsGoOfIsTheNextOfItsCapacity) {
  InLoop([this] {
    const std::byte* const first = (*arena_.Allocate(kSmall))->data();
    Use(1, 3 * kSmall);
    EXPECT_EQ((*arena_.Allocate(kSmall))->data(), first);
  });
  EXPECT_EQ(AtHand(), 2u);
}

TEST_F(PayloadMagazineTest, AThreadThatRunsNoLoopHasNone) {
  EXPECT_EQ(PayloadMagazine::OfThisThread(), nullptr);
  Use(1, kSmall);
  EXPECT_EQ(AtHand(), 0u);
}

TEST_F(PayloadMagazineTest, WhatIsOnAnotherMemoryNodeIsNotTheLoops) {
  InLoop([this] {
    BlockRef held;
    {
      const PretendedNumaNode elsewhere(1);
      held = *arena_.Allocate(kSmall);
    }
    held = BlockRef();
  });
  EXPECT_EQ(AtHand(), 0u);
}

TEST_F(PayloadMagazineTest, ALoopThatHasMovedIsNotGivenWhatItHadElsewhere) {
  InLoop([this] {
    const std::byte* const first = (*arena_.Allocate(kSmall))->data();
    const PretendedNumaNode elsewhere(1);
    EXPECT_NE((*arena_.Allocate(kSmall))->data(), first);
  });
}

TEST_F(PayloadMagazineTest, AtTheLimitOfTheArenaALoopThatHasMovedIsGivenIt) {
  Use(1, kLarge);  // Kept, and not to be unmapped for it.
  InLoop([this] {
    constexpr size_t kBytes = 5 * kSmall;  // No other test's.
    const std::byte* const first = (*arena_.Allocate(kBytes))->data();
    const size_t mapped = arena_.mapped_bytes();
    arena_.set_limit(mapped);
    const PretendedNumaNode elsewhere(1);
    EXPECT_EQ((*arena_.Allocate(kBytes))->data(), first);
    EXPECT_EQ(arena_.mapped_bytes(), mapped);
    arena_.set_limit(kPayloadMemoryLimitDefault);
  });
}

TEST_F(PayloadMagazineTest, WhatAnotherThreadLetsGoOfIsNotTheLoops) {
  BlockRef held;
  InLoop([&] { held = *arena_.Allocate(kSmall); });
  held = BlockRef();
  EXPECT_EQ(AtHand(), 0u);
}

TEST_F(PayloadMagazineTest, LargeBlocksAreNotKeptAtHand) {
  InLoop([this] { Use(1, kLarge); });
  EXPECT_EQ(AtHand(), 0u);
}

TEST_F(PayloadMagazineTest, OfManyTheOlderOnesGoToTheArena) {
  InLoop([this] { Use(PayloadMagazine::kBlocksMax, kSmall); });
  EXPECT_EQ(AtHand(), PayloadMagazine::kBlocksMax);
  InLoop([this] { Use(PayloadMagazine::kBlocksMax + 1, kSmall); });
  EXPECT_EQ(AtHand(), PayloadMagazine::kBlocksMax / 2 + 1);
}

TEST_F(PayloadMagazineTest, GivingBackWhatIsUnusedTakesAllThatIsAtHand) {
  InLoop([this] {
    Use(3, kSmall);
    EXPECT_EQ(AtHand(), 3u);
    arena_.GiveBackUnused(absl::InfinitePast());
    EXPECT_EQ(AtHand(), 0u);
  });
}

TEST_F(PayloadMagazineTest, TheLoopsEndGivesAllBack) {
  InLoop([this] { Use(3, kSmall); });
  loop_ = nullptr;
  EXPECT_EQ(AtHand(), 0u);
}

TEST_F(PayloadMagazineTest, AtTheLimitOfTheArenaTheLoopGoesWithoutThem) {
  InLoop([this] {
    SetPayloadMemoryLimit(0);
    EXPECT_FALSE(arena_.Allocate(size_t{1} << 40).ok());  // What the arena keeps is unmapped for it.
    SetPayloadMemoryLimit(kPayloadMemoryLimitDefault);
    Use(PayloadMagazine::kBlocksMax, kSmall);
    SetPayloadMemoryLimit(arena_.mapped_bytes());
    EXPECT_TRUE(arena_.Allocate(20 * kSmall).ok());
    EXPECT_EQ(AtHand(), 0u);
    SetPayloadMemoryLimit(kPayloadMemoryLimitDefault);
  });
}

TEST_F(PayloadMagazineTest, ABlockAtHandIsNobodysPayload) {
  InLoop([this] {
    const std::byte* const data = (*arena_.Allocate(kSmall))->data();
    EXPECT_FALSE(arena_.Find(data, 1));
  });
}

// Who finds a block holds it, or has found none: nobody is given it meanwhile.
TEST_F(PayloadMagazineTest, WhatIsFoundWhileALoopTakesAndLetsGoIsHeld) {
  constexpr int kFinds = 300;
  std::atomic<const std::byte*> last_given = (*arena_.Allocate(kSmall))->data();
  const auto given = [](const BlockRef& block) {  // How often that block was.
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(block->data()));
  };
  std::atomic<bool> over = false;
  std::atomic<int> finds = 0;
  std::thread finder([&] {
    while (!over.load()) {
      const BlockRef found = arena_.Find(last_given.load(), 1);
      if (!found) continue;
      ++finds;
      const uint64_t before = given(found).load();
      std::this_thread::yield();
      EXPECT_LE(given(found).load() - before, 1u);  // By the holder whose block it was when it was found.
    }
  });
  InLoop([&] {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    for (int i = 0; i < 20000 || (finds.load() < kFinds && absl::Now() < end); ++i) {
      const BlockRef one = *arena_.Allocate(kSmall);
      given(one).fetch_add(1);
      last_given.store(one->data());
      if (i % 16 == 0) std::this_thread::yield();  // While it is held: the finder may have this core.
      const BlockRef other = *arena_.Allocate(kSmall);
      given(other).fetch_add(1);
      EXPECT_NE(one->data(), other->data());
    }
  });
  over.store(true);
  finder.join();
  EXPECT_GE(finds.load(), kFinds);
  loop_ = nullptr;
  EXPECT_EQ(AtHand(), 0u);
}

}  // namespace
}  // namespace verbena::transport
