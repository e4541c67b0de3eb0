#include "rpc/auth/overflow_ids.h"

#include <fstream>

namespace verbena::rpc {
namespace {

constexpr uint32_t kOverflowIdDefault = 65534;
constexpr uint64_t kIds = 0xffff'ffff;  // The last one is none.

// `map` has lines of three numbers; the last is how many ids the line gives numbers to.
bool NumbersAll(const std::string& map) {
  std::ifstream file(map);
  uint64_t inside = 0, outside = 0, count = 0, numbered = 0;
  while (file >> inside >> outside >> count) numbered += count;
  return numbered >= kIds;
}

std::optional<uint32_t> OverflowId(const std::string& map, const std::string& setting) {
  if (NumbersAll(map)) return std::nullopt;
  std::ifstream file(setting);
  uint32_t id = 0;
  return file >> id ? id : kOverflowIdDefault;
}

}  // namespace

OverflowIds ReadOverflowIds(const std::string& proc) {
  return {OverflowId(proc + "/self/uid_map", proc + "/sys/kernel/overflowuid"),
          OverflowId(proc + "/self/gid_map", proc + "/sys/kernel/overflowgid")};
}

}  // namespace verbena::rpc
