#include "benchmarks/yardstick/load_bounds.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace verbena::benchmarks {
namespace {

constexpr double kSecondsMax = 86400;

}  // namespace

absl::Status CheckBounds(absl::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, " must be ", least, " to ", most));
}

absl::Status CheckSeconds(double seconds) {
  if (seconds > 0 && seconds <= kSecondsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--seconds must be more than 0, and at most ", kSecondsMax));
}

absl::Status CheckMemory(uint64_t in_flight, uint64_t message_bytes) {
  const uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (in_flight <= machine / 2 / std::max<uint64_t>(message_bytes, 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--in_flight=", in_flight, " of ", message_bytes,
                                                 " bytes, at both ends, are more than this machine's ", machine,
                                                 " bytes of memory"));
}

}  // namespace verbena::benchmarks
