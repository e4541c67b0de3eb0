#include "tests/soft_roce/faults/connected_devices.h"

#include "tests/soft_roce/faults/wire.h"

namespace verbena::soft_roce {

void ConnectedDevices::Connect(const ChannelOptions& options) {
  if (!HasWire()) GTEST_SKIP() << "needs the devices and the wire of a guest: tests/soft_roce/run_suite";
  server_ = std::make_unique<probe::ServerProcess>(
      ServerAddress(),
      probe::ServerProcessOptions{.ack_timeout = options.transport.ack_timeout, .launcher = ServerLauncher()});
  stub_ = std::make_unique<probe::Probe::Stub>(probe::OpenChannel(server_->address(), options));
  ASSERT_EQ(probe::EchoOnce(*stub_, kPatience), absl::OkStatus());
}

}  // namespace verbena::soft_roce
