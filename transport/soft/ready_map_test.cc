#include "transport/soft/ready_map.h"

#include <numeric>
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

TEST(ReadyMap, TakesEveryIndexOfAFullMap) {
  ReadyMap map = FreshMap();
  std::vector<uint32_t> all(kQueuePairsMax);
  std::iota(all.begin(), all.end(), 0);
  for (uint32_t index : all) map.Set(index);
  EXPECT_EQ(Taken(map), all);
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
  using Wake = ArmedWordWatcher::Wake;

  std::atomic<uint64_t> word_{0};
  ArmedWord armed_{&word_};
  ArmedWordWatcher watcher_{&word_};
  ArmedWordWatcher other_{&word_};
};

TEST_F(ArmedWordTest, PolledOwnerIsNotWoken) {
  EXPECT_EQ(watcher_.WhomToWake(News::kImportant), Wake::kNobody);
  EXPECT_EQ(watcher_.WhomToWake(News::kWork), Wake::kNobody);
}

TEST_F(ArmedWordTest, EachPeerWakesOncePerArming) {
  armed_.Arm(ArmedFor::kAnything);
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kChannel);
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kNobody);
  EXPECT_EQ(other_.WhomToWake(News::kMessage), Wake::kChannel);
  armed_.Renew();
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kChannel);
}

TEST_F(ArmedWordTest, OwnerThatWaitsForSolicitedMessagesLeavesOthersToItsDevice) {
  armed_.Arm(ArmedFor::kSolicited);
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kDevice);
  EXPECT_EQ(watcher_.WhomToWake(News::kImportant), Wake::kChannel);
}

TEST_F(ArmedWordTest, AnswerWakesNobodyButWhoWaitsForAnything) {
  EXPECT_EQ(watcher_.WhomToWake(News::kAnswer), Wake::kNobody);
  armed_.Arm(ArmedFor::kSolicited);
  EXPECT_EQ(watcher_.WhomToWake(News::kAnswer), Wake::kNobody);
  armed_.Arm(ArmedFor::kAnything);
  EXPECT_EQ(watcher_.WhomToWake(News::kAnswer), Wake::kChannel);
}

TEST_F(ArmedWordTest, WorkIsForTheDeviceWhateverTheOwnerIsArmedFor) {
  armed_.Arm(ArmedFor::kAnything);
  EXPECT_EQ(watcher_.WhomToWake(News::kWork), Wake::kDevice);
  EXPECT_EQ(watcher_.WhomToWake(News::kWork), Wake::kNobody);
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kChannel);
}

TEST_F(ArmedWordTest, UnattendedOwnersDeviceIsWokenForEverything) {
  armed_.SetUnattended(true);
  EXPECT_EQ(watcher_.WhomToWake(News::kMessage), Wake::kDevice);
  EXPECT_EQ(watcher_.WhomToWake(News::kImportant), Wake::kNobody);
  armed_.Renew();
  EXPECT_EQ(watcher_.WhomToWake(News::kImportant), Wake::kDevice);
}

TEST_F(ArmedWordTest, DisarmedOwnerIsNotWoken) {
  armed_.Arm(ArmedFor::kAnything);
  armed_.Disarm();
  EXPECT_EQ(watcher_.WhomToWake(News::kImportant), Wake::kNobody);
}

}  // namespace
}  // namespace verbena::soft
