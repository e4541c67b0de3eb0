// Listening where an RDMA device is present: on it, beside it, and with less locked memory than a loop needs.

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/soft_roce/faults/wire.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::string_view kBesideTheDevice = "10.99.0.1";  // An address of the guest's, and of no RDMA device.

class ListeningTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("VERBENA_GUEST") == nullptr) GTEST_SKIP() << "needs a guest's device: tests/soft_roce/run_suite";
    soft_roce::RunAsRoot(absl::StrCat("ip addr replace ", kBesideTheDevice, "/32 dev lo"));
    loops_ = *EventLoopGroup::Start(1, {});
  }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address) {
    TransportOptions options;
    options.device = "auto";
    return Listener::Listen(address, options, {loops_->loop(0)}, [](std::unique_ptr<Connection>) {});
  }
  static std::string OnTheDevice(absl::string_view port = "0") {
    return absl::StrCat(integration::HostUnderTest(), ":", port);
  }
  static std::string PortOf(const std::string& address) { return address.substr(address.rfind(':') + 1); }

  std::unique_ptr<EventLoopGroup> loops_;
};

TEST_F(ListeningTest, InAutoAnAddressOfTheDeviceIsServedByItAndBySoft) {
  const auto listener = Listen(OnTheDevice());
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT((*listener)->addresses(), ElementsAre(StartsWith("rdma://"), StartsWith("soft://")));
}

TEST_F(ListeningTest, InAutoAnAddressOfNoDeviceIsServedBySoftAlone) {
  const auto listener = Listen(absl::StrCat(kBesideTheDevice, ":0"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT((*listener)->addresses(), ElementsAre(StartsWith("soft://10.99.0.1:")));
}

TEST_F(ListeningTest, InAutoAnAddressThatOnlyTheDeviceIsInUseOnIsAnError) {
  const auto first = Listen("rdma://" + OnTheDevice());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Listen(OnTheDevice(PortOf((*first)->addresses().front())));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("Address already in use"));
}

TEST_F(ListeningTest, AnRdmaAddressOfNoDeviceIsAnError) {
  const auto listener = Listen(absl::StrCat("rdma://", kBesideTheDevice, ":0"));
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kNotFound) << listener.status();
}

// An ordinary user's limit of locked memory, for threads that are started meanwhile. Thread: one.
class LittleLockedMemory {
 public:
  LittleLockedMemory() {
    EXPECT_EQ(getrlimit(RLIMIT_MEMLOCK, &before_), 0);
    rlimit little = before_;
    little.rlim_cur = kBytes;
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    EXPECT_EQ(syscall(SYS_capget, &header_, capabilities_), 0);
    SetEffective(capabilities_[0].effective & ~(1u << CAP_IPC_LOCK));
  }
  ~LittleLockedMemory() {
    SetEffective(capabilities_[0].effective);
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before_), 0);
  }
  static constexpr rlim_t kBytes = 65536;

 private:
  void SetEffective(uint32_t first) {
    __user_cap_data_struct changed[2] = {capabilities_[0], capabilities_[1]};
    changed[0].effective = first;
    EXPECT_EQ(syscall(SYS_capset, &header_, changed), 0);
  }

  rlimit before_ = {};
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct capabilities_[2] = {};
};

TEST_F(ListeningTest, WithTooLittleLockedMemoryListeningOnTheDeviceFailsAndNamesLimitAndRemedy) {
  const LittleLockedMemory little;
  loops_ = *EventLoopGroup::Start(1, {});
  for (const std::string& address : {OnTheDevice(), "rdma://" + OnTheDevice()}) {
    EXPECT_THAT(std::string(Listen(address).status().message()),
                AllOf(HasSubstr(absl::StrCat(LittleLockedMemory::kBytes, " bytes")), HasSubstr("ulimit -l")));
  }
}

}  // namespace
}  // namespace verbena::transport
