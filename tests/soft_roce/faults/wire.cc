#include "tests/soft_roce/faults/wire.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"

namespace verbena::soft_roce {
namespace {

constexpr char kDevices[] = "/sys/class/infiniband";

// Set where the second device, with its end of the wire, is in another network namespace.
const char* PeerNamespace() { return std::getenv("VERBENA_TEST_PEER_NAMESPACE"); }

// Runs a command of iproute2 for each end of the wire, `command` being all before the interface's name.
void RunForEachEnd(const std::string& command, const std::string& rest) {
  RunAsRoot(absl::StrCat(command, " veth0 ", rest));
  RunAsRoot(absl::StrCat(absl::StrJoin(ServerLauncher(), " "), " ", command, " veth1 ", rest));
}

}  // namespace

bool HasWire() {
  const std::filesystem::path devices(kDevices);
  return std::getenv("VERBENA_GUEST") != nullptr &&
         (std::filesystem::exists(devices / "rxe1") || std::filesystem::exists(devices / "siw1"));
}

bool IsIwarp() {
  const std::filesystem::directory_iterator first(kDevices);
  std::string type;
  std::getline(std::ifstream(first->path() / "node_type"), type);
  return absl::StrContains(type, "RNIC");
}

std::string ServerAddress() {
  const char* const peer = std::getenv("VERBENA_TEST_PEER_ADDRESS");
  return peer == nullptr ? integration::AddressUnderTest() : absl::StrCat(peer, ":0");
}

std::vector<std::string> ServerLauncher() {
  if (PeerNamespace() == nullptr) return {};
  return {"ip", "netns", "exec", PeerNamespace()};
}

void RunAsRoot(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

void Wire::Disturb(const std::string& netem) {
  disturbed_ = true;
  RunForEachEnd("tc qdisc replace dev", absl::StrCat("root netem ", netem));
}

void Wire::TakeLinkDown() {
  down_ = true;
  RunAsRoot("ip link set $VERBENA_TEST_LINK down");
}

void Wire::Heal() {
  if (std::exchange(disturbed_, false)) RunForEachEnd("tc qdisc del dev", "root");
  if (!std::exchange(down_, false)) return;
  RunAsRoot("ip link set $VERBENA_TEST_LINK up");
  RunAsRoot("bash ${VERBENA_TEST_LINK_UP:-/dev/null}");  // What the interface has lost, if it has.
}

}  // namespace verbena::soft_roce
