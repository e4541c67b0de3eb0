#include "transport/numa_node.h"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transport/testing/pretended_numa_node.h"

namespace verbena::transport {
namespace {

// As the system's files have it; 0 where one node alone has memory.
int NodeOf(int processor) {
  std::string nodes;
  std::ifstream("/sys/devices/system/node/has_memory") >> nodes;
  if (nodes.find_first_of(",-") == std::string::npos) return 0;
  std::error_code none;
  const std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu", processor);
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node")) return std::stoi(name.substr(4));
  }
  return 0;
}

TEST(NumaNode, IsThatOfTheProcessorThatTheThreadRunsOn) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    std::thread([processor] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      EXPECT_EQ(NumaNodeOfThisThread(), NodeOf(processor)) << "processor " << processor;
    }).join();
  }
}

TEST(NumaNode, IsThePretendedOneOfThatThreadOnly) {
  constexpr int kNowhere = 1'000'000;
  const PretendedNumaNode pretended(kNowhere);
  EXPECT_EQ(NumaNodeOfThisThread(), kNowhere);
  std::thread([kNowhere] { EXPECT_NE(NumaNodeOfThisThread(), kNowhere); }).join();
}

}  // namespace
}  // namespace verbena::transport
