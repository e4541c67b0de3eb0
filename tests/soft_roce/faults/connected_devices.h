// For tests: a server on one of the guest's two devices, and on the other a client that is connected to it and has
// calls in flight, while something befalls what is between them.

#ifndef VERBENA_TESTS_SOFT_ROCE_FAULTS_CONNECTED_DEVICES_H_
#define VERBENA_TESTS_SOFT_ROCE_FAULTS_CONNECTED_DEVICES_H_

#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "tests/integration/child_process.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::soft_roce {

// In which every call in flight must have completed when its connection can be used no more, on a machine that does ten
// other things.
inline constexpr absl::Duration kBound = absl::Seconds(20);
// For what must come about, and may take its time.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

class ConnectedDevices : public testing::Test {
 protected:
  // For SetUp: starts the server, whose devices have the ACK time-out of `options`, and makes the first call. Skips the
  // test where there are no two devices.
  void Connect(const ChannelOptions& options);

  std::unique_ptr<probe::ServerProcess> server_;
  probe::EchoCalls calls_;
  std::unique_ptr<probe::Probe::Stub> stub_;  // Its channel's end completes what is left of calls_.
};

}  // namespace verbena::soft_roce

#endif  // VERBENA_TESTS_SOFT_ROCE_FAULTS_CONNECTED_DEVICES_H_
