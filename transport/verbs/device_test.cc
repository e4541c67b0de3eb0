#include "transport/verbs/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "transport/verbs/device_list.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceTest : public ::testing::Test {
 protected:
  FakeVerbs fake_;
};

TEST_F(DeviceTest, ListNamesTheDevicesAndIsFreedOnce) {
  {
    absl::StatusOr<DeviceList> list = DeviceList::Read(fake_.api());
    ASSERT_TRUE(list.ok());
    EXPECT_THAT(list->Names(), ElementsAre("fake0"));
    DeviceList moved = *std::move(list);
  }
  EXPECT_EQ(fake_.CountOf("free_device_list"), 1);
}

TEST_F(DeviceTest, KernelWithoutRdmaIsAnEmptyList) {
  fake_.Fail("get_device_list", ENOSYS);
  fake_.Fail("cm_get_devices", ENODEV);
  absl::StatusOr<DeviceList> list = DeviceList::Read(fake_.api());
  absl::StatusOr<CmDeviceList> cm_list = CmDeviceList::Read(fake_.api());
  ASSERT_TRUE(list.ok() && cm_list.ok());
  EXPECT_THAT(list->devices(), IsEmpty());
  EXPECT_THAT(cm_list->contexts(), IsEmpty());
}

TEST_F(DeviceTest, ForbiddenListIsAnError) {
  fake_.Fail("get_device_list", EACCES);
  fake_.Fail("cm_get_devices", EACCES);
  EXPECT_TRUE(absl::IsPermissionDenied(DeviceList::Read(fake_.api()).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(CmDeviceList::Read(fake_.api()).status()));
}

TEST_F(DeviceTest, ConnectionManagersContextsAreListed) {
  absl::StatusOr<CmDeviceList> list = CmDeviceList::Read(fake_.api());
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(list->contexts(), ElementsAre(fake_.context()));
}

TEST_F(DeviceTest, OpenedByNameIsClosedOnce) {
  {
    absl::StatusOr<Device> device = Device::Open(fake_.api(), "fake0");
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_EQ(device->name(), "fake0");
    EXPECT_EQ(device->guid(), 0x5054000000fe0012u);
    EXPECT_EQ(device->completion_vectors(), 2);
    Device moved = *std::move(device);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("device list", "context"));
}

TEST_F(DeviceTest, UnknownNameTellsWhatThereIs) {
  EXPECT_EQ(Device::Open(fake_.api(), "mlx5_7").status(),
            absl::NotFoundError("no RDMA device \"mlx5_7\" (devices of fake: fake0)"));
  fake_.Fail("get_device_list", ENOSYS);
  EXPECT_THAT(Device::Open(fake_.api(), "x").status().message(), HasSubstr("there is none"));
}

TEST_F(DeviceTest, FailureToOpenNamesTheDevice) {
  fake_.Fail("open_device", EACCES);
  EXPECT_EQ(Device::Open(fake_.api(), "fake0").status(),
            absl::PermissionDeniedError("ibv_open_device failed: Permission denied (fake0)"));
}

TEST_F(DeviceTest, DeviceThatCannotBeQueriedIsClosed) {
  fake_.Fail("query_device", EIO);
  EXPECT_FALSE(Device::Open(fake_.api(), "fake0").ok());
  EXPECT_EQ(fake_.CountOf("close_device"), 1);
}

TEST_F(DeviceTest, DeviceWhosePortCannotBeQueriedIsClosed) {
  fake_.Fail("query_port", EIO);
  EXPECT_THAT(Device::Open(fake_.api(), "fake0").status().message(), HasSubstr("ibv_query_port failed"));
  EXPECT_EQ(fake_.CountOf("close_device"), 1);
}

TEST_F(DeviceTest, LongestMessageIsWhatEachPortTakes) {
  fake_.device_attributes.phys_port_cnt = 2;
  fake_.port_attributes.max_msg_sz = 8 << 20;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->message_bytes_max(), 8u << 20);
  EXPECT_EQ(fake_.CountOf("query_port"), 2);
}

TEST_F(DeviceTest, PortThatDoesNotSayHowLongAMessageMayBeHasNoSay) {
  fake_.port_attributes.max_msg_sz = 0;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->message_bytes_max(), 0xffffffffu);
}

TEST_F(DeviceTest, RateIsThatOfItsLanesTogether) {
  fake_.port_attributes.state = IBV_PORT_ACTIVE;
  fake_.port_attributes.active_width = 2;  // Four lanes...
  fake_.port_attributes.active_speed = 1;  // ...of 2.5 Gbit/s.
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->bits_per_second(), 10000000000u);
  fake_.port_attributes.active_speed = 128;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->bits_per_second(), 400000000000u);
}

TEST_F(DeviceTest, PortThatIsDownHasNoRate) {
  fake_.port_attributes.state = IBV_PORT_DOWN;
  fake_.port_attributes.active_width = 2;
  fake_.port_attributes.active_speed = 128;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->bits_per_second(), 0u);
}

TEST_F(DeviceTest, PortThatDoesNotSayHowFastItIsHasNoRate) {
  fake_.port_attributes.state = IBV_PORT_ACTIVE;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->bits_per_second(), 0u);
  fake_.port_attributes.active_width = 2;
  fake_.port_attributes.active_speed = 255;  // None of those that are known.
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->bits_per_second(), 0u);
}

TEST_F(DeviceTest, BorrowedContextStaysOpen) {
  { ASSERT_TRUE(Device::Borrow(fake_.api(), fake_.context()).ok()); }
  EXPECT_EQ(fake_.CountOf("close_device"), 0);
}

TEST_F(DeviceTest, NumaNodeComesFromSysfs) {
  std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "fake0";
  std::filesystem::create_directories(directory / "device");
  std::ofstream(directory / "device" / "numa_node") << "1\n";
  strncpy(fake_.device.ibdev_path, directory.c_str(), sizeof(fake_.device.ibdev_path) - 1);
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->numa_node(), 1);
}

TEST_F(DeviceTest, DeviceOutsideSysfsHasNoNumaNode) {
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->numa_node(), -1);
}

TEST_F(DeviceTest, OnlyIwarpDevicesAreIwarp) {
  EXPECT_FALSE(Device::Borrow(fake_.api(), fake_.context())->is_iwarp());
  fake_.device.transport_type = IBV_TRANSPORT_IWARP;
  EXPECT_TRUE(Device::Borrow(fake_.api(), fake_.context())->is_iwarp());
}

TEST_F(DeviceTest, DescriptionIsOneLineWithWhatMatters) {
  strcpy(fake_.device_attributes.fw_ver, "1.2");
  fake_.device_attributes.max_qp = 100;
  fake_.device_attributes.max_qp_wr = 4096;
  fake_.device_attributes.max_sge = 30;
  fake_.device_attributes.max_qp_init_rd_atom = 16;
  fake_.port_attributes.state = IBV_PORT_ACTIVE;
  fake_.port_attributes.active_mtu = IBV_MTU_4096;
  fake_.port_attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
  fake_.port_attributes.active_width = 1;
  fake_.port_attributes.active_speed = 1;
  EXPECT_EQ(Device::Borrow(fake_.api(), fake_.context())->Describe(),
            "fake0 (fake, firmware 1.2, GUID 5054:0000:00fe:0012): port 1 active on Ethernet, 2.5 Gbit/s, MTU 4096; "
            "100 queue pairs of 4096 work requests, no shared receive queue, 30 segments, READ depth 16");
}

TEST_F(DeviceTest, PortAndGidFailuresNameThePort) {
  absl::StatusOr<Device> device = Device::Borrow(fake_.api(), fake_.context());
  fake_.Fail("query_port", EINVAL);
  EXPECT_THAT(device->QueryPort(3).status().message(), HasSubstr("fake0 port 3"));
  fake_.Fail("query_gid", EINVAL);
  EXPECT_THAT(device->QueryGid(1, 9).status().message(), HasSubstr("fake0 port 1 index 9"));
  EXPECT_EQ(device->QueryGid(1, 9)->raw[15], 9);
}

TEST_F(DeviceTest, NoAsyncEventIsNoError) {
  absl::StatusOr<Device> device = Device::Borrow(fake_.api(), fake_.context());
  ASSERT_TRUE(device->MakeAsyncEventsNonBlocking().ok());
  absl::StatusOr<std::optional<AsyncEvent>> event = device->NextAsyncEvent();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
}

TEST_F(DeviceTest, AsyncEventIsCopiedAndAcknowledged) {
  ibv_qp queue_pair = {};
  queue_pair.qp_num = 17;
  fake_.async_events.push_back({.element = {.qp = &queue_pair}, .event_type = IBV_EVENT_QP_LAST_WQE_REACHED});
  absl::StatusOr<std::optional<AsyncEvent>> event = NextAsyncEvent(fake_.api(), fake_.context());
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->queue_pair_number, 17u);
  EXPECT_THAT((*event)->ToString(), HasSubstr("(queue pair 17)"));
  EXPECT_EQ(fake_.CountOf("ack_async_event"), 1);
}

TEST_F(DeviceTest, AsyncEventSaysWhatItIsAbout) {
  ibv_srq receives = {};
  fake_.async_events.push_back({.element = {.srq = &receives}, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
  fake_.async_events.push_back({.element = {.port_num = 2}, .event_type = IBV_EVENT_PORT_ERR});
  EXPECT_EQ((*NextAsyncEvent(fake_.api(), fake_.context()))->shared_receive_queue, &receives);
  EXPECT_EQ((*NextAsyncEvent(fake_.api(), fake_.context()))->port, 2);
}

TEST_F(DeviceTest, AsyncEventOfAPortSaysWhatBecameOfIt) {
  fake_.async_events.push_back({.element = {.port_num = 2}, .event_type = IBV_EVENT_PORT_ERR});
  fake_.async_events.push_back({.element = {.port_num = 2}, .event_type = IBV_EVENT_PORT_ACTIVE});
  EXPECT_EQ((*NextAsyncEvent(fake_.api(), fake_.context()))->ToString(), "port 2 went down");
  EXPECT_EQ((*NextAsyncEvent(fake_.api(), fake_.context()))->ToString(), "port 2 came up");
}

TEST_F(DeviceTest, FailureToReadAsyncEventsNamesTheDevice) {
  fake_.async_events.emplace_back();
  fake_.Fail("get_async_event", EIO);
  EXPECT_THAT(NextAsyncEvent(fake_.api(), fake_.context()).status().message(), HasSubstr("fake0"));
  EXPECT_EQ(fake_.CountOf("ack_async_event"), 0);
}

}  // namespace
}  // namespace verbena::verbs
