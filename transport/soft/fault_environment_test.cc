// $VERBENA_SOFT_FAULTS, which is read when the device is opened: each test in a process of its own.

#include <cerrno>
#include <cstdlib>

#include "gtest/gtest.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

class FaultsOfTheEnvironment : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

// The exit code: what opening the device with this plan ends with.
[[noreturn]] void OpenWith(const char* plan) {
  setenv("VERBENA_SOFT_FAULTS", plan, 1);
  std::exit(SoftContext() != nullptr ? 0 : errno);
}

[[noreturn]] void PostWith(const char* plan) {
  setenv("VERBENA_SOFT_FAULTS", plan, 1);
  LinkedPair pair;
  std::exit(pair.left.Send(1));
}

// Whether the device has failed with the second of three sends.
[[noreturn]] void SendThriceWith(const char* plan) {
  setenv("VERBENA_SOFT_FAULTS", plan, 1);
  LinkedPair pair;
  for (uint64_t id = 1; id <= 3; ++id) pair.left.Send(id);
  auto event = NextAsyncEvent();
  bool fatal = event.has_value() && event->event_type == IBV_EVENT_DEVICE_FATAL;
  bool flushed = pair.left.State() == IBV_QPS_ERR && pair.left.PollSends()->status != IBV_WC_SUCCESS;
  std::_Exit(fatal && flushed ? 0 : 1);
}

TEST_F(FaultsOfTheEnvironment, MalformedPlanIsExplainedAndTheDeviceDoesNotOpen) {
  EXPECT_EXIT(OpenWith("qp=1:explode"), testing::ExitedWithCode(EINVAL),
              "VERBENA_SOFT_FAULTS: fault plan: .qp=1:explode.: what can happen there: refuse-direct");
}

TEST_F(FaultsOfTheEnvironment, PlanBefallsTheFirstQueuePair) {
  EXPECT_EXIT(PostWith("qp=1,request=1:refuse"), testing::ExitedWithCode(ENOMEM), "");
}

TEST_F(FaultsOfTheEnvironment, PlanMakesTheDeviceFail) {
  EXPECT_EXIT(SendThriceWith("post=2:device-fatal"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace verbena::soft
