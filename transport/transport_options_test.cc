#include "gtest/gtest.h"
#include "transport/device_selection.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

TEST(TransportOptions, TheDefaultsAreValid) { EXPECT_TRUE(CheckOptions(TransportOptions()).ok()); }

TEST(TransportOptions, AnErrorNamesTheOptionItsValueAndTheRange) {
  TransportOptions options;
  options.receive_buffer_bytes = 100;
  const absl::Status status = CheckOptions(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "receive_buffer_bytes is 100; it must be from 512 to 1048576");
}

TEST(TransportOptions, NoMoreThanTheMostMayBeUnauthenticated) {
  TransportOptions options;
  options.unauthenticated_connections_max = kUnauthenticatedConnectionsMax;
  EXPECT_TRUE(CheckOptions(options).ok());
  ++options.unauthenticated_connections_max;
  EXPECT_EQ(CheckOptions(options).message(),
            "unauthenticated_connections_max is 1048577; it must be from 1 to 1048576");
}

TEST(TransportOptions, AReadThatIsTooShortIsRejectedAndNoneLeavesItToTheDevice) {
  TransportOptions options;
  options.read_chunk_bytes = 1;
  EXPECT_EQ(CheckOptions(options).message(), "read_chunk_bytes is 1; it must be from 4096 to 1073741824");
  options.read_chunk_bytes = 0;
  EXPECT_TRUE(CheckOptions(options).ok());
}

TEST(TransportOptions, MoreReadsThanTheConnectionManagerCanSayAreRejected) {
  TransportOptions options;
  options.read_depth = 256;
  EXPECT_EQ(CheckOptions(options).message(), "read_depth is 256; it must be from 0 to 255");
}

TEST(TransportOptions, ADurationThatNeverEndsTheWaitIsRejected) {
  TransportOptions options;
  options.handshake_timeout = absl::ZeroDuration();
  EXPECT_EQ(CheckOptions(options).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TransportOptions, AnIntervalOfNoProbesIsZeroAndNotLess) {
  TransportOptions options;
  options.keepalive_interval = absl::ZeroDuration();
  EXPECT_TRUE(CheckOptions(options).ok());
  options.keepalive_interval = absl::Seconds(-1);
  EXPECT_EQ(CheckOptions(options).message(), "keepalive_interval is -1s; it must be positive");
}

TEST(DeviceSelection, ASoftAddressMeansTheSoftwareDeviceAlone) {
  const auto candidates = SelectDevices(*ParseAddress("soft://127.0.0.1:1"), "auto");
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  ASSERT_EQ(candidates->size(), 1u);
  EXPECT_EQ(candidates->front().scheme, Scheme::kSoft);
}

TEST(DeviceSelection, AutoEndsWithTheSoftwareDevice) {
  const auto candidates = SelectDevices(*ParseAddress("127.0.0.1:1"), "auto");
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_EQ(candidates->back().scheme, Scheme::kSoft);
}

TEST(DeviceSelection, AnUnknownDeviceIsNotFoundByName) {
  const absl::Status status = SelectDevices(*ParseAddress("127.0.0.1:1"), "mlx9_9").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("mlx9_9"), absl::string_view::npos);
}

TEST(DeviceSelection, AnAddressAndAnOptionThatContradictEachOtherAreRejected) {
  EXPECT_EQ(SelectDevices(*ParseAddress("rdma://127.0.0.1:1"), "soft").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SelectDevices(*ParseAddress("soft://127.0.0.1:1"), "mlx5_0").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CheckDevice, SaysWhatConnectWouldAndLooksAtTheAddressOfOneServerAlone) {
  TransportOptions options;
  options.device = "mlx9_9";
  EXPECT_TRUE(absl::IsNotFound(CheckDevice("127.0.0.1:1", options)));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckDevice("soft://127.0.0.1:1", options)));
  EXPECT_TRUE(absl::IsNotFound(CheckDevice("dns:///name:1", options)));
  options.device = "soft";
  EXPECT_EQ(CheckDevice("127.0.0.1:1", options), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckDevice("rdma://127.0.0.1:1", options)));
  EXPECT_EQ(CheckDevice("dns:///name:1", options), absl::OkStatus());
}

}  // namespace
}  // namespace verbena::transport
