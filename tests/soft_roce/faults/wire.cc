#include "tests/soft_roce/faults/wire.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace verbena::soft_roce {
namespace {

constexpr const char* kEnds[] = {"veth0", "veth1"};

}  // namespace

bool HasWire() {
  return std::getenv("VERBENA_GUEST") != nullptr && std::filesystem::exists("/sys/class/infiniband/rxe1");
}

void RunAsRoot(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

void Wire::Lose(int percent) {
  loses_ = true;
  for (const char* end : kEnds)
    RunAsRoot(absl::StrCat("tc qdisc replace dev ", end, " root netem loss ", percent, "%"));
}

void Wire::Heal() {
  if (!std::exchange(loses_, false)) return;
  for (const char* end : kEnds) RunAsRoot(absl::StrCat("tc qdisc del dev ", end, " root"));
}

}  // namespace verbena::soft_roce
