#include "rpc/auth/overflow_ids.h"

#include <filesystem>
#include <fstream>

namespace verbena::rpc {
namespace {

constexpr uint32_t kOverflowIdDefault = 65534;
constexpr uint64_t kIds = 0xffff'ffff;  // The last one is none.

// `map` has lines of three numbers; the last is how many ids the line gives numbers to. A kernel without user
// namespaces has none.
bool NumbersAll(const std::string& process, const std::string& map) {
  std::ifstream file(process + map);
  if (!file.is_open()) return std::filesystem::exists(process);
  uint64_t inside = 0, outside = 0, count = 0, numbered = 0;
  while (file >> inside >> outside >> count) numbered += count;
  return numbered >= kIds;
}

std::optional<uint32_t> OverflowId(const std::string& proc, const std::string& map, const std::string& setting) {
  if (NumbersAll(proc + "/self", map)) return std::nullopt;
  std::ifstream file(proc + "/sys/kernel" + setting);
  uint32_t id = 0;
  return file >> id ? id : kOverflowIdDefault;
}

}  // namespace

OverflowIds ReadOverflowIds(const std::string& proc) {
  return {OverflowId(proc, "/uid_map", "/overflowuid"), OverflowId(proc, "/gid_map", "/overflowgid")};
}

}  // namespace verbena::rpc
