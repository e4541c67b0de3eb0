#include "transport/read_sizes.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr uint8_t kFourLanes = 2;
// Speeds of a lane, as ibv_port_attr has them.
constexpr uint8_t k2500Mbit = 1;
constexpr uint8_t k25Gbit = 32;
constexpr uint8_t k50Gbit = 64;
constexpr uint8_t k100Gbit = 128;

class ReadSizesTest : public ::testing::Test {
 protected:
  ReadSizesTest() {
    fake_.device_attributes.max_qp_rd_atom = 128;
    fake_.device_attributes.max_qp_init_rd_atom = 128;
    fake_.port_attributes.state = IBV_PORT_ACTIVE;
  }

  ReadSizes SizesAt(uint8_t lane_speed) {
    fake_.port_attributes.active_width = kFourLanes;
    fake_.port_attributes.active_speed = lane_speed;
    return Sizes();
  }
  ReadSizes Sizes() { return ChooseReadSizes(options_, *verbs::Device::Borrow(fake_.api(), fake_.context())); }

  verbs::FakeVerbs fake_;
  TransportOptions options_;
};

TEST_F(ReadSizesTest, AReadGrowsWithThePortsRateFromHundredGigabitsOn) {
  EXPECT_EQ(SizesAt(k2500Mbit).chunk_bytes, 256u << 10);
  EXPECT_EQ(SizesAt(k25Gbit).chunk_bytes, 256u << 10);
  EXPECT_EQ(SizesAt(k50Gbit).chunk_bytes, 512u << 10);
  EXPECT_EQ(SizesAt(k100Gbit).chunk_bytes, 1u << 20);
}

TEST_F(ReadSizesTest, AWindowHoldsWhatAConnectionMayHaveInFlight) {
  EXPECT_EQ(SizesAt(k2500Mbit).window_bytes, 1u << 20);
  EXPECT_EQ(SizesAt(k25Gbit).window_bytes, 1u << 20);
  EXPECT_EQ(SizesAt(k100Gbit).window_bytes, 2u << 20);
}

TEST_F(ReadSizesTest, AFastPortHasMoreReadsInFlightIfTheDeviceHasThem) {
  EXPECT_EQ(SizesAt(k25Gbit).depth, 16);
  EXPECT_EQ(SizesAt(k100Gbit).depth, 64);
  fake_.device_attributes.max_qp_init_rd_atom = 16;
  EXPECT_EQ(SizesAt(k100Gbit).depth, 16);
}

TEST_F(ReadSizesTest, ADeviceThatDoesNotSayHowFastItIsIsTakenForAUsualOne) {
  EXPECT_EQ(SizesAt(0).chunk_bytes, 256u << 10);
  EXPECT_EQ(SizesAt(0).depth, 16);
}

TEST_F(ReadSizesTest, WhatTheProgramAsksForGoesBefore) {
  options_.read_chunk_bytes = 8192;
  options_.read_depth = 3;
  options_.fetch_window_bytes = 100;
  const ReadSizes sizes = SizesAt(k100Gbit);
  EXPECT_EQ(sizes.chunk_bytes, 8192u);
  EXPECT_EQ(sizes.depth, 3);
  EXPECT_EQ(sizes.window_bytes, 100u);
}

TEST_F(ReadSizesTest, HowLongReadsAreLeavesTheirNumberAndTheWindowToTheDevice) {
  options_.read_chunk_bytes = 64 << 20;
  const ReadSizes slow = SizesAt(k25Gbit);
  EXPECT_EQ(slow.chunk_bytes, 64u << 20);
  EXPECT_EQ(slow.depth, 16);
  EXPECT_EQ(slow.window_bytes, 1u << 20);
  options_.read_chunk_bytes = 256 << 10;
  const ReadSizes fast = SizesAt(k100Gbit);
  EXPECT_EQ(fast.chunk_bytes, 256u << 10);
  EXPECT_EQ(fast.depth, 64);
  EXPECT_EQ(fast.window_bytes, 2u << 20);
}

TEST_F(ReadSizesTest, NeitherIsMoreThanTheDeviceTakes) {
  fake_.port_attributes.max_msg_sz = 5000;
  fake_.device_attributes.max_qp_rd_atom = 2;
  EXPECT_EQ(SizesAt(k100Gbit).chunk_bytes, 5000u);
  EXPECT_EQ(SizesAt(k100Gbit).depth, 2);
  options_.read_chunk_bytes = 1 << 30;
  options_.read_depth = 255;
  EXPECT_EQ(Sizes().chunk_bytes, 5000u);
  EXPECT_EQ(Sizes().depth, 2);
}

// Who answers fewer than it may ask for, too: both ends say one number.
TEST_F(ReadSizesTest, TheDepthIsTheLeastThatTheDeviceAsksForOrAnswers) {
  fake_.device_attributes.max_qp_rd_atom = 4;
  EXPECT_EQ(Sizes().depth, 4);
  fake_.device_attributes.max_qp_init_rd_atom = 1;
  EXPECT_EQ(Sizes().depth, 1);
}

TEST_F(ReadSizesTest, AConnectionHasOneReadEvenWhereTheDeviceSaysNone) {
  fake_.device_attributes.max_qp_rd_atom = 0;
  EXPECT_EQ(Sizes().depth, 1);
}

TEST_F(ReadSizesTest, TheConnectionManagerCanSayNoMoreThanAByte) {
  options_.read_depth = 255;
  fake_.device_attributes.max_qp_rd_atom = fake_.device_attributes.max_qp_init_rd_atom = 1000;
  EXPECT_EQ(Sizes().depth, 255);
}

}  // namespace
}  // namespace verbena::transport
