// The device that these tests run on: the software device, or the one whose address VERBENA_TEST_ADDRESS gives, as
// "rdma://10.77.0.1". VERBENA_DEVICE may choose among several, as for any program.

#ifndef VERBENA_TESTS_INTEGRATION_DEVICE_UNDER_TEST_H_
#define VERBENA_TESTS_INTEGRATION_DEVICE_UNDER_TEST_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace verbena::integration {

// Its host: "127.0.0.1".
std::string HostUnderTest();

// To listen on and to connect to: "soft://127.0.0.1:0". Port 0: any free one.
std::string AddressUnderTest(uint16_t port = 0);

// Whether the kernel says whose process is at the other end.
bool DeviceKnowsProcesses();

// How many bytes the messages have that something dies in the middle of: `usual`, or VERBENA_TEST_LARGE_MIB mebibytes,
// for machines on which touching fresh memory takes long.
size_t LargeBytes(size_t usual);

}  // namespace verbena::integration

#endif  // VERBENA_TESTS_INTEGRATION_DEVICE_UNDER_TEST_H_
