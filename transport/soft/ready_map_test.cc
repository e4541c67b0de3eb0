#include "transport/soft/ready_map.h"

#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/armed_word.h"

namespace verbena::soft {
namespace {

std::vector<uint32_t> Taken(ReadyMap& map) {
  std::vector<uint32_t> indices;
  map.Take([&indices](uint32_t index) { indices.push_back(index); });
  return indices;
}

ReadyMap FreshMap() { return ReadyMap(*SharedMapping::Create(SharedMapping::Kind::kReady)); }

TEST(ReadyMap, FreshMapHasNothing) {
  ReadyMap map = FreshMap();
  EXPECT_FALSE(map.AnyReady());
  EXPECT_TRUE(Taken(map).empty());
}

TEST(ReadyMap, TakesEachIndexOnce) {
  ReadyMap map = FreshMap();
  for (uint32_t index : {0u, 63u, 64u, kQueuePairsMax - 1, 63u}) map.Set(index);
  EXPECT_TRUE(map.AnyReady());
  EXPECT_EQ(Taken(map), (std::vector<uint32_t>{0, 63, 64, kQueuePairsMax - 1}));
  EXPECT_FALSE(map.AnyReady());
  EXPECT_TRUE(Taken(map).empty());
}

TEST(ReadyMap, IndexSetWhileTakingIsSeenNextTime) {
  ReadyMap map = FreshMap();
  map.Set(5);
  map.Take([&map](uint32_t index) { map.Set(index); });
  EXPECT_EQ(Taken(map), std::vector<uint32_t>{5});
}

class ArmedWordTest : public testing::Test {
 protected:
  std::atomic<uint64_t> word_{0};
  ArmedWord armed_{&word_};
  ArmedWordWatcher watcher_{&word_};
  ArmedWordWatcher other_{&word_};
};

TEST_F(ArmedWordTest, UnarmedOwnerIsNotSignalled) { EXPECT_FALSE(watcher_.ShouldSignal(true)); }

TEST_F(ArmedWordTest, EachPeerSignalsOncePerArming) {
  armed_.Arm(ArmedFor::kAnything);
  EXPECT_TRUE(watcher_.ShouldSignal(false));
  EXPECT_FALSE(watcher_.ShouldSignal(false));
  EXPECT_TRUE(other_.ShouldSignal(false));
  armed_.Renew();
  EXPECT_TRUE(watcher_.ShouldSignal(false));
}

TEST_F(ArmedWordTest, SolicitedOnlyNeedsUrgentNews) {
  armed_.Arm(ArmedFor::kSolicited);
  EXPECT_FALSE(watcher_.ShouldSignal(false));
  EXPECT_TRUE(watcher_.ShouldSignal(true));
}

TEST_F(ArmedWordTest, DisarmedOwnerIsNotRenewed) {
  armed_.Arm(ArmedFor::kAnything);
  armed_.Disarm();
  armed_.Renew();
  EXPECT_FALSE(watcher_.ShouldSignal(true));
}

}  // namespace
}  // namespace verbena::soft
