#include "transport/registered_memory.h"

#include <cstdint>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/testing/device_context_fixture.h"
#include "transport/user_memory.h"

namespace verbena::transport {
namespace {

using soft::RemovableDevice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBytes = 100000;

absl::Status Register(void* data, size_t size) { return RegisterMemory(data, size).status(); }

TEST(RegisteredMemory, NoMemoryIsInvalid) {
  char byte = 'x';
  EXPECT_EQ(Register(nullptr, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Register(&byte, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Register(&byte, SIZE_MAX).code(), absl::StatusCode::kInvalidArgument);
}

TEST(RegisteredMemory, ACordRefersToTheBytesAndIsReleasedOnceWithItsLastCopy) {
  std::string bytes(kBytes, 'x');
  const RegisteredMemory memory = *RegisterMemory(bytes.data(), bytes.size());
  int released = 0;
  absl::Cord cord = *memory.ToCord(10, 50000, [&released] { ++released; });
  EXPECT_EQ(cord.TryFlat()->data(), bytes.data() + 10);
  EXPECT_EQ(cord.size(), 50000u);
  absl::Cord part = cord.Subcord(20000, 20000);
  cord.Clear();
  EXPECT_EQ(released, 0);
  part.Clear();
  EXPECT_EQ(released, 1);
}

TEST(RegisteredMemory, ACordOfNoBytesIsReleasedAtOnce) {
  std::string bytes(kBytes, 'x');
  const RegisteredMemory memory = *RegisterMemory(bytes.data(), bytes.size());
  int released = 0;
  EXPECT_TRUE(memory.ToCord(kBytes, 0, [&released] { ++released; })->empty());
  EXPECT_EQ(released, 1);
}

TEST(RegisteredMemory, BytesBeyondItAreOutOfRangeAndNothingIsReleased) {
  std::string bytes(kBytes, 'x');
  const RegisteredMemory memory = *RegisterMemory(bytes.data(), bytes.size());
  int released = 0;
  for (const auto& [offset, size] : {std::pair<size_t, size_t>{kBytes, 1}, {1, kBytes}, {SIZE_MAX, 2}, {2, SIZE_MAX}}) {
    const absl::Status status = memory.ToCord(offset, size, [&released] { ++released; }).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_EQ(RegisteredMemory().ToCord(0, 1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(released, 0);
}

TEST(RegisteredMemory, AnOverlapIsRefusedNamingBothAndNeighboursAreNot) {
  std::string bytes(kBytes, 'x');
  char* const data = bytes.data();
  const RegisteredMemory memory = *RegisterMemory(data + 1000, 1000);
  EXPECT_EQ(Register(data, 1001).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Register(data + 1999, 1).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Register(data, kBytes).code(), absl::StatusCode::kAlreadyExists);
  const absl::Status status = Register(data + 1200, 17);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("17 bytes"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1000 bytes"));
  EXPECT_EQ(Register(data, 1000), absl::OkStatus());
  EXPECT_EQ(Register(data + 2000, 1000), absl::OkStatus());
}

TEST(RegisteredMemory, ItIsFoundByAddressWhileItIsRegistered) {
  std::string bytes(kBytes, 'x');
  {
    const RegisteredMemory memory = *RegisterMemory(bytes.data() + 10, 100);
    EXPECT_NE(UserMemory::Find(bytes.data() + 10, 100), nullptr);
    EXPECT_NE(UserMemory::Find(bytes.data() + 109, 1), nullptr);
    EXPECT_EQ(UserMemory::Find(bytes.data() + 9, 1), nullptr);
    EXPECT_EQ(UserMemory::Find(bytes.data() + 10, 101), nullptr);
    EXPECT_EQ(UserMemory::Find(bytes.data() + 110, 1), nullptr);
  }
  EXPECT_EQ(UserMemory::Find(bytes.data() + 10, 1), nullptr);
}

TEST(RegisteredMemory, ACordOutlivesTheHandleAndKeepsTheRegistration) {
  std::string bytes(kBytes, 'x');
  std::vector<std::string> events;
  RegisteredMemory memory = *RegisterMemory(bytes.data(), kBytes, [&events] { events.push_back("deregistered"); });
  absl::Cord cord = *memory.ToCord(0, kBytes, [&events] { events.push_back("released"); });
  memory = RegisteredMemory();
  EXPECT_THAT(events, IsEmpty());
  EXPECT_EQ(Register(bytes.data(), 1).code(), absl::StatusCode::kAlreadyExists);
  cord.Clear();
  EXPECT_THAT(events, ElementsAre("released", "deregistered"));
  EXPECT_EQ(Register(bytes.data(), 1), absl::OkStatus());
}

TEST(RegisteredMemory, ItMayBeRegisteredAgainFromWithinTheWordThatItIsNoMore) {
  std::string bytes(kBytes, 'x');
  absl::Status again = absl::UnknownError("not told");
  {
    const auto memory = RegisterMemory(bytes.data(), kBytes, [&] { again = Register(bytes.data(), kBytes); });
  }
  EXPECT_EQ(again, absl::OkStatus());
}

class RegisteredMemoryOnDevice : public DeviceContextTest {
 protected:
  ~RegisteredMemoryOnDevice() override {
    RemovableDevice::refuses_memory = false;
    RemovableDevice::on_deregister = nullptr;
  }

  std::string bytes_ = std::string(kBytes, 'x');
};

TEST_F(RegisteredMemoryOnDevice, ADeviceInUseHasItAtOnceAndOnce) {
  ASSERT_TRUE(device_->has_windows());
  const TransportCounters before = ReadTransportCounters();
  {
    const RegisteredMemory memory = *RegisterMemory(bytes_.data(), kBytes);
    EXPECT_EQ(ReadTransportCounters().registrations, before.registrations + 1);
    EXPECT_EQ(ReadTransportCounters().pinned_bytes, before.pinned_bytes + kBytes);
    const auto region = UserMemory::Find(bytes_.data(), 1)->regions().In(*device_);
    ASSERT_TRUE(region.ok()) << region.status();
    EXPECT_EQ(ReadTransportCounters().registrations, before.registrations + 1);
    EXPECT_EQ((*region)->access(), IBV_ACCESS_MW_BIND) << "nobody but this process may do anything with it";
    EXPECT_THAT(RemovableDevice::destroyed, IsEmpty());
  }
  EXPECT_THAT(RemovableDevice::destroyed, ElementsAre("registration"));
  EXPECT_EQ(ReadTransportCounters().pinned_bytes, before.pinned_bytes);
}

TEST_F(RegisteredMemoryOnDevice, ADeviceThatIsLostTakesItsRegistrationAlongAndTheNextHasAnother) {
  const RegisteredMemory memory = *RegisterMemory(bytes_.data(), kBytes);
  Remove();
  device_.reset();
  EXPECT_THAT(RemovableDevice::destroyed, ElementsAre("registration", "domain", "id"));
  EXPECT_EQ(bytes_, std::string(kBytes, 'x'));
  device_ = Get();
  EXPECT_TRUE(UserMemory::Find(bytes_.data(), kBytes)->regions().In(*device_).ok());
}

TEST_F(RegisteredMemoryOnDevice, WhileADeviceThatIsLostDeregistersOthersFindTheMemory) {
  const RegisteredMemory memory = *RegisterMemory(bytes_.data(), kBytes);
  bool found = false;
  RemovableDevice::on_deregister = [&] { found = UserMemory::Find(bytes_.data(), kBytes) != nullptr; };
  Remove();
  device_.reset();
  EXPECT_TRUE(found);
}

TEST_F(RegisteredMemoryOnDevice, ADeviceThatIsLostOutlivesTheRegistrationsThatOthersAreEnding) {
  RegisteredMemory memory = *RegisterMemory(bytes_.data(), kBytes);
  std::binary_semaphore ending{0};
  RemovableDevice::on_deregister = [&ending] { ending.release(); };
  Remove();
  std::thread other([&memory] { memory = RegisteredMemory(); });
  ending.acquire();
  device_.reset();
  other.join();
  EXPECT_THAT(RemovableDevice::destroyed, ElementsAre("registration", "domain", "id"));
}

TEST_F(RegisteredMemoryOnDevice, WhatTheSystemRefusesNamesTheRemedyAndLeavesNothingBehind) {
  int deregistered = 0;
  RemovableDevice::refuses_memory = true;
  const absl::Status status = RegisterMemory(bytes_.data(), kBytes, [&deregistered] { ++deregistered; }).status();
  RemovableDevice::refuses_memory = false;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("100000 bytes"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("locked memory"));
  EXPECT_EQ(deregistered, 0);
  EXPECT_EQ(Register(bytes_.data(), kBytes), absl::OkStatus());
}

}  // namespace
}  // namespace verbena::transport
