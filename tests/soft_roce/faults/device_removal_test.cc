// A device is removed in the middle of calls: every call completes once, and the process lives. When the server's
// device is back and a server listens on it again, the client's channel goes on.
//
// rxe waits for every process that has the removed device open, so that the removal itself runs in the background.

#include <string>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "tests/integration/child_process.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/wait_until.h"
#include "tests/soft_roce/faults/connected_devices.h"
#include "tests/soft_roce/faults/wire.h"

namespace verbena::soft_roce {
namespace {

using probe::EchoOnce;
using probe::ServerProcess;

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

class DeviceRemovalTest : public ConnectedDevices {
 protected:
  void SetUp() override {
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    options.transport.keepalive_interval = absl::Seconds(60);  // Past kBound: it must not be what ends calls.
    options.transport.keepalive_timeout = absl::Seconds(60);
    options.connect_timeout = kConnectTimeout;
    Connect(options);
  }

  void RemoveAmidCalls(const std::string& device) {
    RunAsRoot("rdma link del " + device + " &");
    const absl::Time give_up = absl::Now() + kPatience;
    do {
      for (int i = 0; i < 50; ++i) calls_.Start(*stub_, absl::Cord(std::string(100000, 'r')));
      ASSERT_TRUE(calls_.WaitForAll(kBound));
    } while (calls_.ExpectOkOrUnavailable() == 0 && absl::Now() < give_up);
    EXPECT_GT(calls_.ExpectOkOrUnavailable(), 0);
  }
};

TEST_F(DeviceRemovalTest, OfTheServersEndsEveryCallAndTheChannelGoesOnWhenItIsBack) {
  const std::string address = server_->address();
  RemoveAmidCalls("rxe0");
  server_.reset();  // Then the removal comes to its end.
  RunAsRoot(
      "bash -c 'die() { echo $1; exit 1; }; . tests/soft_roce/networks/rdma_device.sh;"
      " for ((i = 0; i < 100; ++i)); do rdma link add rxe0 type rxe netdev veth0 2>/dev/null && break; sleep 0.1; done;"
      " wait_for_address rxe0'");
  const ServerProcess next(address);
  EXPECT_TRUE(WaitUntil([this] { return EchoOnce(*stub_, kPatience).ok(); }, kPatience));
}

// The last test: rxe gives the device back when this process has ended.
TEST_F(DeviceRemovalTest, OfTheClientsEndsEveryCallAndTheNextFailsInWords) {
  RemoveAmidCalls("rxe1");
  const absl::Status status = EchoOnce(*stub_, kConnectTimeout);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
}

}  // namespace
}  // namespace verbena::soft_roce
