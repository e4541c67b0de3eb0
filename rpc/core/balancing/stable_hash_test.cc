#include "rpc/core/balancing/stable_hash.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

// If these change, every client sends its keys elsewhere: FNV-1a's published values ("" and "a"), finished.
TEST(StableHash, IsTheSameInEveryRelease) {
  EXPECT_EQ(StableHash(""), MixBits(0xcbf29ce484222325));
  EXPECT_EQ(StableHash("a"), MixBits(0xaf63dc4c8601ec8c));
}

TEST(StableHash, SeedMakesAnotherHash) { EXPECT_NE(StableHash("a", 1), StableHash("a", 2)); }

}  // namespace
}  // namespace verbena::rpc
