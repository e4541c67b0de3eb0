// Room for descriptors as the kernel says that it is there. Each in a child, whose table is the smallest.

#include "transport/soft/control_io/descriptor_table.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_io/control_thread.h"
#include "transport/soft/testing/holds_in_child.h"
#include "transport/soft/testing/open_fds.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

// FDSize in /proc/self/status: how many numbers the table has room for.
int TableSize() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int size = 0;
    if (word == "FDSize:" && status >> size) return size;
  }
  return -1;
}

bool LimitTo(rlim_t count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = count;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Whether `body` holds in a process whose table is the smallest: the kernel makes a child's as large as its parent
// needs, who closes what was inherited first.
bool HoldsWithSmallTable(const std::function<bool()>& body) {
  return HoldsInChild([&body] {
    if (close_range(STDERR_FILENO + 1, ~0U, 0) != 0) return false;
    return HoldsInChild([&body] { return TableSize() == 64 && body(); });
  });
}

class DescriptorTableTest : public testing::Test {
 protected:
  void SetUp() override {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 4096) GTEST_SKIP() << "no more than " << limit.rlim_max << " descriptors are allowed here";
  }
};

TEST_F(DescriptorTableTest, GrowsSeveralfoldWhenHalfOfItIsTaken) {
  EXPECT_TRUE(HoldsWithSmallTable([] {
    DescriptorTable table;
    const size_t open_before = OpenFds();
    if (!LimitTo(4096) || table.Note(31)) return false;
    table.MakeRoom(STDERR_FILENO);
    if (TableSize() != 64) return false;  // It was not time.
    if (!table.Note(32) || table.Note(33)) return false;
    table.MakeRoom(STDERR_FILENO);
    if (TableSize() != 1024 || table.Note(511) || !table.Note(512)) return false;
    table.MakeRoom(STDERR_FILENO);
    return TableSize() == 4096 && OpenFds() == open_before;
  }));
}

TEST_F(DescriptorTableTest, GrowsToTheLimitOnceAndFurtherWhenThatWasRaised) {
  EXPECT_TRUE(HoldsWithSmallTable([] {
    DescriptorTable table;
    if (!LimitTo(300) || !table.Note(40)) return false;
    table.MakeRoom(STDERR_FILENO);
    if (TableSize() < 300 || TableSize() >= 1024 || table.Note(299)) return false;
    if (!LimitTo(2048) || !table.Note(300)) return false;
    table.MakeRoom(STDERR_FILENO);
    return TableSize() == 2048;
  }));
}

class Idle final : public ControlThread::Delegate {
 public:
  void OnReadable(uint64_t /*key*/) override {}
  std::optional<ControlThread::TimePoint> OnTime(ControlThread::TimePoint /*now*/) override { return std::nullopt; }
};

TEST_F(DescriptorTableTest, OfTheControlThreadGrowsWithWhatIsWatched) {
  EXPECT_TRUE(HoldsWithSmallTable([] {
    Idle idle;
    ControlThread thread(idle);
    if (!LimitTo(1024) || thread.Start() != 0) return false;
    std::vector<UniqueFd> watched;
    while (watched.empty() || watched.back().get() < 40) {
      watched.emplace_back(eventfd(0, EFD_CLOEXEC));
      if (thread.Watch(watched.back().get(), watched.size()) != 0) return false;
    }
    while (TableSize() < 1024) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // The child has an alarm.
    return true;
  }));
}

}  // namespace
}  // namespace verbena::soft
