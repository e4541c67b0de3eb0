#include "tests/integration/device_under_test.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace verbena::integration {
namespace {

constexpr char kSoftwareDevice[] = "soft://127.0.0.1";

std::string SchemeAndHost() {
  const char* const address = std::getenv("VERBENA_TEST_ADDRESS");
  return address == nullptr || *address == '\0' ? kSoftwareDevice : address;
}

}  // namespace

std::string HostUnderTest() {
  const std::string address = SchemeAndHost();
  const size_t scheme = address.find("://");
  return scheme == std::string::npos ? address : address.substr(scheme + 3);
}

std::string AddressUnderTest(uint16_t port) { return absl::StrCat(SchemeAndHost(), ":", port); }

bool DeviceKnowsProcesses() {
  const char* const fabric = std::getenv("VERBENA_SOFT_FABRIC");
  return SchemeAndHost() == kSoftwareDevice && (fabric == nullptr || std::string(fabric) != "tcp");
}

size_t LargeBytes(size_t usual) {
  const char* const mebibytes = std::getenv("VERBENA_TEST_LARGE_MIB");
  size_t count = 0;
  return mebibytes != nullptr && absl::SimpleAtoi(mebibytes, &count) ? count << 20 : usual;
}

}  // namespace verbena::integration
