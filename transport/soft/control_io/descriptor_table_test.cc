// Room for descriptors as the kernel says that it is there. Each in a child, whose table is as small as it can be.

#include "transport/soft/control_io/descriptor_table.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
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

TEST(DescriptorTable, GrowsSeveralfoldWhenHalfOfItIsTaken) {
  EXPECT_TRUE(HoldsInChild([] {
    DescriptorTable table;
    const size_t open_before = OpenFds();
    if (!LimitTo(4096) || TableSize() > 256 || table.Note(31)) return false;
    table.MakeRoom(STDERR_FILENO);
    if (TableSize() > 256) return false;  // It was not time.
    if (!table.Note(32) || table.Note(33)) return false;
    table.MakeRoom(STDERR_FILENO);
    if (TableSize() != 1024 || table.Note(511) || !table.Note(512)) return false;
    table.MakeRoom(STDERR_FILENO);
    return TableSize() == 4096 && OpenFds() == open_before;
  }));
}

TEST(DescriptorTable, GrowsToTheLimitOnceAndFurtherWhenThatWasRaised) {
  EXPECT_TRUE(HoldsInChild([] {
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

TEST(DescriptorTable, OfTheControlThreadGrowsWithWhatIsWatched) {
  EXPECT_TRUE(HoldsInChild([] {
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
