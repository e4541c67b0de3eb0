#include "rpc/core/peer_calls.h"

#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

uint64_t IdOf(uint32_t index, uint32_t generation) { return uint64_t{generation} << 32 | index; }

TEST(PeerCalls, ACallIsFoundByItsWholeId) {
  PeerCalls calls;
  calls.Add(IdOf(3, 1), 17);
  EXPECT_EQ(calls.Find(IdOf(3, 1)), 17u);
  EXPECT_EQ(calls.Find(IdOf(3, 2)), std::nullopt);
  EXPECT_EQ(calls.Find(IdOf(2, 1)), std::nullopt);
  calls.Remove(IdOf(3, 1));
  EXPECT_EQ(calls.Find(IdOf(3, 1)), std::nullopt);
}

TEST(PeerCalls, IdsOfOneIndexAreToldApart) {
  PeerCalls calls;
  for (uint32_t generation = 1; generation <= 3; ++generation) calls.Add(IdOf(5, generation), generation);
  calls.Remove(IdOf(5, 1));
  EXPECT_EQ(calls.Find(IdOf(5, 1)), std::nullopt);
  EXPECT_EQ(calls.Find(IdOf(5, 2)), 2u);
  EXPECT_EQ(calls.Find(IdOf(5, 3)), 3u);
  calls.Add(IdOf(5, 4), 4);
  calls.Remove(IdOf(5, 2));
  EXPECT_EQ(calls.Find(IdOf(5, 3)), 3u);
  EXPECT_EQ(calls.Find(IdOf(5, 4)), 4u);
}

TEST(PeerCalls, AnyNumberServesAsAnId) {
  PeerCalls calls;
  calls.Add(0, 1);
  calls.Add(~uint64_t{0}, 2);
  calls.Add(1 << 20, 3);
  EXPECT_EQ(calls.Find(0), 1u);
  EXPECT_EQ(calls.Find(~uint64_t{0}), 2u);
  EXPECT_EQ(calls.Find(1 << 20), 3u);
  calls.Remove(~uint64_t{0});
  EXPECT_EQ(calls.Find(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(calls.Find(0), 1u);
}

}  // namespace
}  // namespace verbena::rpc
