#include "transport/memory_holders.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Time kStart = absl::UnixEpoch();
const absl::Time kLater = kStart + absl::Seconds(1);

std::vector<uint32_t> StalledLinks(const MemoryHolders& holders, absl::Time since) {
  std::vector<uint32_t> links;
  for (const MemoryHolders::Holder& holder : holders.Stalled(since)) links.push_back(holder.link);
  return links;
}

TEST(MemoryHolders, WhereNothingIsHeldNobodyIsStalled) {
  EXPECT_THAT(StalledLinks(MemoryHolders(), kLater), IsEmpty());
}

TEST(MemoryHolders, TheOneThatHoldsMostIsNamedFirst) {
  MemoryHolders holders;
  holders.OnTaken(1, 100, kStart);
  holders.OnTaken(2, 90, kStart);
  holders.OnTaken(2, 90, kStart);
  holders.OnTaken(3, 120, kStart);
  EXPECT_THAT(StalledLinks(holders, kStart), ElementsAre(2, 3, 1));
  EXPECT_EQ(holders.Stalled(kStart).front().bytes, 180u);
}

TEST(MemoryHolders, WhoFinishedSomethingSinceIsSpared) {
  MemoryHolders holders;
  holders.OnTaken(1, 100, kStart);
  holders.OnTaken(2, 200, kStart);
  holders.OnReleased(2, 50, kLater);
  EXPECT_THAT(StalledLinks(holders, kStart), ElementsAre(1));
  EXPECT_THAT(StalledLinks(holders, kLater), ElementsAre(2, 1));
}

TEST(MemoryHolders, ToTakeMoreIsNoProgress) {
  MemoryHolders holders;
  holders.OnTaken(1, 100, kStart);
  holders.OnTaken(1, 100, kLater);
  EXPECT_THAT(StalledLinks(holders, kStart), ElementsAre(1));
}

// A long message on a slow link, not one of which a byte comes now and then.
TEST(MemoryHolders, WhatIsReadAtAPaceThatEndsIsSpared) {
  MemoryHolders holders;
  holders.OnTaken(1, 1600, kStart);
  holders.OnRead(1, 60, kLater);
  EXPECT_THAT(StalledLinks(holders, kStart), ElementsAre(1));
  holders.OnRead(1, 40, kLater);
  EXPECT_THAT(StalledLinks(holders, kStart), IsEmpty());
  holders.OnRead(1, 60, kLater + absl::Seconds(1));
  EXPECT_THAT(StalledLinks(holders, kLater), ElementsAre(1));
}

TEST(MemoryHolders, WhoHasReleasedAllIsForgotten) {
  MemoryHolders holders;
  holders.OnTaken(1, 100, kStart);
  holders.OnReleased(1, 100, kStart);
  EXPECT_THAT(StalledLinks(holders, kLater), IsEmpty());
  holders.OnTaken(1, 100, kLater);  // Its time begins anew.
  EXPECT_THAT(StalledLinks(holders, kStart), IsEmpty());
}

}  // namespace
}  // namespace verbena::transport
