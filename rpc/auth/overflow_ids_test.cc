#include "rpc/auth/overflow_ids.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

// A /proc of the test's own.
class OverflowIdsTest : public testing::Test {
 protected:
  OverflowIdsTest() {
    std::filesystem::remove_all(proc_);
    std::filesystem::create_directories(proc_ + "/self");
    std::filesystem::create_directories(proc_ + "/sys/kernel");
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(proc_ + name) << text; }

  const std::string proc_ = testing::TempDir() + "/overflow_ids_proc";
};

TEST_F(OverflowIdsTest, WhereEverybodyHasANumberThereAreNone) {
  Write("/self/uid_map", "         0          0 4294967295\n");
  Write("/self/gid_map", "0 0 1000\n1000 1000 4294966295\n");
  EXPECT_EQ(ReadOverflowIds(proc_).user, std::nullopt);
  EXPECT_EQ(ReadOverflowIds(proc_).group, std::nullopt);
}

TEST_F(OverflowIdsTest, WhereSomeHaveNoneTheKernelsSettingCounts) {
  Write("/self/uid_map", "0 100000 65536\n");
  Write("/self/gid_map", "");
  Write("/sys/kernel/overflowuid", "65533\n");
  Write("/sys/kernel/overflowgid", "7\n");
  EXPECT_EQ(ReadOverflowIds(proc_).user, 65533u);
  EXPECT_EQ(ReadOverflowIds(proc_).group, 7u);
}

TEST_F(OverflowIdsTest, WhereThereAreNoUserNamespacesEverybodyHasANumber) {
  EXPECT_EQ(ReadOverflowIds(proc_).user, std::nullopt);
  EXPECT_EQ(ReadOverflowIds(proc_).group, std::nullopt);
}

TEST_F(OverflowIdsTest, WhereNothingCanBeReadTheyAreTheKernelsDefault) {
  EXPECT_EQ(ReadOverflowIds(proc_ + "/none").user, 65534u);
  EXPECT_EQ(ReadOverflowIds(proc_ + "/none").group, 65534u);
}

}  // namespace
}  // namespace verbena::rpc
