// A device is removed in the middle of calls, and comes back: every call completes once, and the same processes go on
// over it, the client through the same channel, the server on the same address.
//
// The kernel waits for every process that has the removed device open, so that the removal itself runs in the
// background. It must come to its end while these live.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/payload.h"
#include "tests/integration/child_process.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/wait_until.h"
#include "tests/soft_roce/faults/connected_devices.h"
#include "tests/soft_roce/faults/wire.h"

namespace verbena::soft_roce {
namespace {

using probe::EchoOnce;

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr size_t kBytes = 100000;

// A device, and where it is made.
struct Place {
  std::string device;
  std::string interface;
  std::string launcher;  // Of commands there.
};

Place Servers() {
  if (IsIwarp()) return {"siw1", "veth1", absl::StrJoin(ServerLauncher(), " ")};
  return {"rxe0", "veth0", ""};
}

Place Clients() {
  if (IsIwarp()) return {"siw0", "veth0", ""};
  return {"rxe1", "veth1", ""};
}

class DeviceRemovalTest : public ConnectedDevices {
 protected:
  void SetUp() override { Connect(Options()); }

  static ChannelOptions Options() {
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    options.transport.keepalive_interval = absl::Seconds(60);  // Past kBound: it must not be what ends calls.
    options.transport.keepalive_timeout = absl::Seconds(60);
    options.connect_timeout = kConnectTimeout;
    return options;
  }

  void RemoveAmidCalls(const Place& place) {
    RunAsRoot(absl::StrCat(place.launcher, " rdma link del ", place.device, " &"));
    const absl::Time give_up = absl::Now() + kPatience;
    do {
      for (int i = 0; i < 50; ++i) calls_.Start(*stub_, absl::Cord(std::string(kBytes, 'r')));
      ASSERT_TRUE(calls_.WaitForAll(kBound));
    } while (calls_.ExpectOkOrUnavailable() == 0 && absl::Now() < give_up);
    EXPECT_GT(calls_.ExpectOkOrUnavailable(), 0);
  }

  // Waits for the removal to end, and makes the device anew.
  static void BringBack(const Place& place) {
    RunAsRoot(absl::StrCat(place.launcher,
                           " bash -c 'die() { echo $1; exit 1; };"
                           " . tests/soft_roce/networks/rdma_device.sh; for ((i = 0; i < 200; ++i)); do rdma link add ",
                           place.device, " type ", IsIwarp() ? "siw" : "rxe", " netdev ", place.interface,
                           " 2>/dev/null && break; sleep 0.1; done; wait_for_address ", place.device, "'"));
  }

  // One call of `attachment`, when the channel is connected again.
  void ExpectServedAgain(const absl::Cord& attachment) {
    ASSERT_TRUE(WaitUntil([this] { return EchoOnce(*stub_, kPatience).ok(); }, kPatience));
    const int failed_before = calls_.ExpectOkOrUnavailable();
    calls_.Start(*stub_, attachment);
    ASSERT_TRUE(calls_.WaitForAll(kBound));
    EXPECT_EQ(calls_.ExpectOkOrUnavailable(), failed_before);
  }
};

TEST_F(DeviceRemovalTest, OfTheServersEndsEveryCallAndTheServerListensAgainWhenItIsBack) {
  RemoveAmidCalls(Servers());
  BringBack(Servers());
  ExpectServedAgain(absl::Cord(std::string(kBytes, 's')));
}

TEST_F(DeviceRemovalTest, OfAServersOnEveryAddressEndsEveryCallAndItIsServedAgainWhenItIsBack) {
  const auto until_port = [](const std::string& address) { return address.rfind(':'); };
  const std::string host = server_->address().substr(0, until_port(server_->address()));
  server_ = std::make_unique<probe::ServerProcess>(
      "rdma://0.0.0.0:0",
      probe::ServerProcessOptions{.ack_timeout = Options().transport.ack_timeout, .launcher = ServerLauncher()});
  const std::string address = absl::StrCat(host, server_->address().substr(until_port(server_->address())));
  stub_ = std::make_unique<probe::Probe::Stub>(probe::OpenChannel(address, Options()));
  ASSERT_EQ(EchoOnce(*stub_, kPatience), absl::OkStatus());
  RemoveAmidCalls(Servers());
  BringBack(Servers());
  ExpectServedAgain(absl::Cord(std::string(kBytes, 'w')));
}

TEST_F(DeviceRemovalTest, OfTheClientsEndsEveryCallAndTheChannelGoesOnWhenItIsBack) {
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::fill_n(memory->data(), kBytes, std::byte{'c'});
  const absl::Cord kept = std::move(*memory).ToCord();
  calls_.Start(*stub_, kept);  // It is registered with the device from here on.
  ASSERT_TRUE(calls_.WaitForAll(kBound));
  ASSERT_EQ(calls_.ExpectOkOrUnavailable(), 0);
  RemoveAmidCalls(Clients());
  BringBack(Clients());
  EXPECT_EQ(kept, std::string(kBytes, 'c'));
  ExpectServedAgain(kept);
}

}  // namespace
}  // namespace verbena::soft_roce
