#include "rpc/core/split_mix.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

// The first numbers of the authors' own program for the seed 1234567.
TEST(SplitMix64, SequenceIsThePublishedOne) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(SplitMix64, JitterStaysInItsBounds) {
  SplitMix64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const double factor = random.NextJitterFactor(0.2);
    EXPECT_GE(factor, 0.8);
    EXPECT_LT(factor, 1.2);
  }
}

}  // namespace
}  // namespace verbena::rpc
