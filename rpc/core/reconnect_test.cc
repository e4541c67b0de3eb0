#include "rpc/core/reconnect.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

ReconnectOptions WithoutJitter() {
  ReconnectOptions options;
  options.jitter = 0;
  return options;
}

absl::Duration DelayAfterFailure(Reconnect& reconnect, absl::Time now) {
  reconnect.BeginConnect();
  reconnect.OnConnectFailed(now);
  return reconnect.NextAttempt() - now;
}

TEST(Reconnect, FirstAttemptIsDueAtOnce) {
  Reconnect reconnect(ReconnectOptions(), 1);
  EXPECT_TRUE(reconnect.ShouldConnect(kStart));
}

TEST(Reconnect, NothingIsDueWhileConnectingOrConnected) {
  Reconnect reconnect(ReconnectOptions(), 1);
  reconnect.BeginConnect();
  EXPECT_FALSE(reconnect.ShouldConnect(kStart));
  reconnect.OnConnected(kStart);
  EXPECT_FALSE(reconnect.ShouldConnect(kStart + absl::Hours(1)));
  EXPECT_EQ(reconnect.NextAttempt(), absl::InfiniteFuture());
}

TEST(Reconnect, FirstAttemptAfterLossIsDueAtOnce) {
  Reconnect reconnect(ReconnectOptions(), 1);
  reconnect.BeginConnect();
  reconnect.OnConnected(kStart);
  reconnect.OnLost(kStart + absl::Minutes(1));
  EXPECT_TRUE(reconnect.ShouldConnect(kStart + absl::Minutes(1)));
}

TEST(Reconnect, DelaysGrowUpToTheirMaximum) {
  Reconnect reconnect(WithoutJitter(), 1);
  EXPECT_EQ(DelayAfterFailure(reconnect, kStart), absl::ZeroDuration());
  EXPECT_EQ(DelayAfterFailure(reconnect, kStart), absl::Milliseconds(50));
  EXPECT_EQ(DelayAfterFailure(reconnect, kStart), absl::Milliseconds(80));
  for (int i = 0; i < 2000; ++i) DelayAfterFailure(reconnect, kStart);
  EXPECT_EQ(DelayAfterFailure(reconnect, kStart), absl::Seconds(5));
}

TEST(Reconnect, ARefusalMakesEvenTheSecondAttemptWaitTheLongestDelay) {
  Reconnect reconnect(WithoutJitter(), 1);
  reconnect.BeginConnect();
  reconnect.OnRefused(kStart);
  EXPECT_FALSE(reconnect.ShouldConnect(kStart));
  EXPECT_EQ(reconnect.NextAttempt(), kStart + absl::Seconds(5));
}

TEST(Reconnect, ConnectionThatNeverHoldsBacksOff) {
  Reconnect reconnect(WithoutJitter(), 1);
  for (int i = 0; i < 2; ++i) {
    reconnect.BeginConnect();
    reconnect.OnConnected(kStart);
    reconnect.OnLost(kStart + absl::Milliseconds(1));
  }
  EXPECT_FALSE(reconnect.ShouldConnect(kStart + absl::Milliseconds(2)));
  EXPECT_EQ(reconnect.failures(), 2u);
}

TEST(Reconnect, ConnectionThatHeldForgetsFailures) {
  Reconnect reconnect(WithoutJitter(), 1);
  for (int i = 0; i < 10; ++i) DelayAfterFailure(reconnect, kStart);
  reconnect.BeginConnect();
  reconnect.OnConnected(kStart);
  reconnect.OnLost(kStart + absl::Seconds(2));
  EXPECT_TRUE(reconnect.ShouldConnect(kStart + absl::Seconds(2)));
}

TEST(Reconnect, JitterStaysInItsBoundsAndDiffersBySeed) {
  absl::Duration first_of_seed[2];
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Reconnect reconnect(ReconnectOptions(), seed);
    DelayAfterFailure(reconnect, kStart);
    first_of_seed[seed - 1] = DelayAfterFailure(reconnect, kStart);
    EXPECT_GE(first_of_seed[seed - 1], absl::Milliseconds(40));
    EXPECT_LE(first_of_seed[seed - 1], absl::Milliseconds(60));
  }
  EXPECT_NE(first_of_seed[0], first_of_seed[1]);
}

}  // namespace
}  // namespace verbena::rpc
