// A device context on a software device that can be removed, and whose destructions are listed.

#ifndef VERBENA_TRANSPORT_TESTING_DEVICE_CONTEXT_FIXTURE_H_
#define VERBENA_TRANSPORT_TESTING_DEVICE_CONTEXT_FIXTURE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "transport/device_context.h"
#include "transport/soft/testing/removable_device.h"

namespace verbena::transport {

class DeviceContextTest : public testing::Test {
 protected:
  DeviceContextTest() : channel_(*verbs::CmEventChannel::Create(soft::RemovableDevice::Api())), device_(Get()) {
    soft::RemovableDevice::destroyed.clear();
  }

  // On the device.
  static verbs::ConnectionId BoundId(verbs::CmEventChannel& channel) {
    absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(channel);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(id->Bind(reinterpret_cast<const sockaddr*>(&address)), absl::OkStatus());
    return *std::move(id);
  }

  // By an id on the device that is gone again.
  std::shared_ptr<DeviceContext> Get() {
    absl::StatusOr<std::shared_ptr<DeviceContext>> device = DeviceContext::For(BoundId(channel_));
    EXPECT_TRUE(device.ok()) << device.status();
    return *device;
  }

  void Remove() {
    soft::RemovableDevice::removed = true;
    device_->DispatchEvents();
  }

  verbs::CmEventChannel channel_;
  std::shared_ptr<DeviceContext> device_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_TESTING_DEVICE_CONTEXT_FIXTURE_H_
