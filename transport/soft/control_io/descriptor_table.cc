#include "transport/soft/control_io/descriptor_table.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/numeric/bits.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

constexpr int kRoomMin = 1024;  // 8 KiB of the kernel's memory.
constexpr int kGrowth = 4;      // Of the power of two that a number fits in.

// How many descriptors the process may have.
int Limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

}  // namespace

bool DescriptorTable::Note(int fd) {
  if (fd < ample_below_.load(std::memory_order_relaxed)) return false;
  int none = 0;
  return outgrown_by_.compare_exchange_strong(none, fd);
}

void DescriptorTable::MakeRoom(int fd) {
  const int outgrown_by = outgrown_by_.load();
  if (outgrown_by == 0) return;
  const int64_t wanted = kGrowth * static_cast<int64_t>(absl::bit_ceil(static_cast<uint32_t>(outgrown_by) + 1));
  const int limit = Limit();
  const int room = static_cast<int>(std::min<int64_t>(std::max<int64_t>(wanted, kRoomMin), limit));
  // Failed or not: there is nothing better to do than to go on, and the kernel grows the table itself.
  UniqueFd highest(fcntl(fd, F_DUPFD_CLOEXEC, room - 1));
  ample_below_.store(room == limit ? limit : room / 2, std::memory_order_relaxed);
  outgrown_by_.store(0);
}

}  // namespace verbena::soft
